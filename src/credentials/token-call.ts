import type { Context } from "../context.ts";
import {
  isConnectionConfigError,
  isDataError,
  isTransient,
  refusingState,
  retryWhileUnreachable,
} from "../database/retry.ts";
import { doubt } from "../ledgers/marks.ts";
import type { Failure, IssuedTokens } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import { credentialSealContext } from "../vault/vault.ts";
import { type ClientSecret, type JudgedAnswer, judgePersons, mustWait } from "./client-secret.ts";
import { endGrant } from "./lost-grants.ts";
import {
  AROUND_CALL,
  type ClaimedCredential,
  holdCredential,
  markSent,
  releaseCredential,
  settle,
} from "./queue.ts";
import { named, openSealed } from "./sealed.ts";
import { type SealedTokens, storeTokens } from "./store.ts";
import { type CallResult, judgeFailure, shareOfLife } from "./verdict.ts";

/** A claimed row whose call may be sent. */
export interface Admitted {
  row: ClaimedCredential;
  /** `null` for a person's pair, which is refreshed with the secret of `OAUTH_CLIENT_ID`. */
  secret: ClientSecret | null;
  /** The call is the one in a minute that checks whether a rejected secret is accepted again. */
  isProbe: boolean;
}

/** How long the service retries to store issued tokens. The platform does not issue the tokens of a grant twice. */
const KEEP_TOKENS_MS = 3_600_000;
/** Tokens that are held for longer raise an alarm, as an outage of the database does. */
const REPORT_HELD_AFTER_MS = 8_000;
/** The delay before missed steps are searched for, so that one search serves a burst of exchanges. */
const AFTER_TOKENS_MS = 5_000;

/**
 * Calls the token endpoint for a claimed row and stores the outcome. The call waits for its turn unless `noNewCalls` is
 * `null`, which means that a caller waits for this token. An abort of `noNewCalls` prevents a call that was not sent yet.
 */
export async function callTokens(
  ctx: Context,
  admitted: Admitted,
  noNewCalls: AbortSignal | null,
): Promise<CallResult> {
  const { row } = admitted;
  // The code or refresh token in the row is used already, and this process holds the new tokens. They are stored under the
  // new lease. The lease is not released, so that other processes do not send the used code or token.
  const held = ctx.credentials.held.get(row.uuid);
  if (held?.generation === row.generation) {
    held.lease = row.lease;
    return { done: "held" };
  }
  const work = () => callAndSettle(ctx, admitted, noNewCalls);
  return row.state === "grant_pending" ? ctx.credentials.lanes.run(work) : work();
}

async function callAndSettle(
  ctx: Context,
  admitted: Admitted,
  noNewCalls: AbortSignal | null,
): Promise<CallResult> {
  const { row } = admitted;
  const sentMs = performance.now();
  const result = await call(ctx, admitted, noNewCalls);
  if (row.state !== "grant_pending") noteForBreaker(ctx, result, sentMs);
  if (result.done === "stored") noteStored(ctx, row, result.refreshInSeconds);
  // A quarantined row stays quarantined until tokens are stored, so the answer about its old tokens is not judged.
  else if (row.state === "quarantined" || result.done === "not_sent" || result.done === "secret_rejected")
    await releaseCredential(ctx.db, row);
  else if (result.done === "failed") await settleFailure(ctx, row, result.failure);
  return result;
}

/** Decrypts the row's code or token, waits for a turn, marks, calls, stores. In this order no tokens are lost. */
async function call(ctx: Context, admitted: Admitted, noNewCalls: AbortSignal | null): Promise<CallResult> {
  const { row, secret } = admitted;
  const sent = await (row.state === "grant_pending"
    ? openSealed(ctx, row, "sealed_grant_code", row.sealedGrantCode)
    : openSealed(ctx, row, "sealed_refresh_token", row.sealedRefreshToken));
  if (!sent) return { done: "quarantined" };
  const answer = await send(ctx, admitted, sent, noNewCalls);
  if (!answer) return { done: "not_sent" };
  if (answer === "client_rejected") return { done: "secret_rejected" };
  if (answer.outcome !== "issued") return { done: "failed", failure: answer };
  // Stored before anything else that may fail.
  const share = shareOfLife();
  const isStored = await storeIssued(ctx, admitted, sent, answer.tokens, share);
  const logNotStored = (error: unknown) =>
    ctx.log.warn(
      { error },
      "The platform accepted the client secret, but this could not be stored; the next accepted call stores it",
    );
  if (secret) await ctx.credentials.secrets.accepted(secret).catch(logNotStored);
  if (isStored) return { done: "stored", refreshInSeconds: answer.tokens.lifeSeconds * share };
  // If this success has invalidated the stored token, the first call that gets a 401 refreshes it.
  ctx.log.warn(named(row), "Tokens dropped: they arrived after another process had taken the row");
  return { done: "not_ours" };
}

/** Sends the call when it has its turn. Returns `null`, without a call, if the secret or the lease is no longer valid. */
async function send(
  { db, log, metrics, credentials: { endpoint, takeTurn, secrets, people } }: Context,
  { row, secret, isProbe }: Admitted,
  credential: Secret,
  noNewCalls: AbortSignal | null,
): Promise<JudgedAnswer | null> {
  const isGrant = row.state === "grant_pending";
  const passTurn = noNewCalls ? await takeTurn(isGrant) : () => undefined;
  try {
    if (noNewCalls?.aborted) return null;
    // The secret may have been rejected or replaced since the claim.
    const now = secret && (secrets.cached() ?? (await retryWhileUnreachable(secrets.current, AROUND_CALL)));
    if (now && (now.version !== secret.version || (mustWait(now, isGrant) && !isProbe))) return null;
    if (!(await markSent(db, row))) return null;
    const kind = isGrant ? ("exchange" as const) : ("refresh" as const);
    const answer = await endpoint[kind](credential, secret?.value ?? people!.secret);
    metrics[kind](answer.outcome);
    // Judged before the turn ends: the next call must not send a rejected secret again.
    return secret ? await secrets.judge(row, secret, answer) : judgePersons(log, answer);
  } finally {
    passTurn();
  }
}

async function storeIssued(
  { db, vault, log, credentials: { held } }: Context,
  { row, secret }: Admitted,
  sent: Secret,
  { accessToken, refreshToken, lifeSeconds }: IssuedTokens,
  share: number,
): Promise<boolean> {
  const { uuid, owner } = row;
  const first = row.state === "grant_pending";
  const isReplaced = !first && refreshToken !== null && refreshToken.reveal() !== sent.reveal();
  const seal = (column: "sealed_access_token" | "sealed_refresh_token", token: Secret) =>
    vault.seal(credentialSealContext(column, uuid, owner), token);
  const sealed = {
    uuid,
    lease: row.lease,
    generation: row.generation,
    first,
    replaces: isReplaced ? row.generation : null,
    access: seal("sealed_access_token", accessToken),
    refresh: refreshToken && seal("sealed_refresh_token", refreshToken),
    lifeSeconds,
    share,
    secretVersion: secret?.version ?? null,
  };
  if (first && !refreshToken)
    log.error(
      { alarm: "no_refresh_token", ...named(row) },
      "The platform sent no refresh token: access ends with this token",
    );
  const sinceMs = performance.now();
  let isReported = false;
  held.set(uuid, sealed);
  const isStored = await retryWhileUnreachable(() => storeHeld(db, sealed), {
    upToMs: KEEP_TOKENS_MS,
    // Every error is retried, because an operator may remove its cause, except an error of the values themselves.
    isCurable(error) {
      if (isDataError(error)) return false;
      const needsOperator = !isTransient(error) || isConnectionConfigError(error);
      if (!isReported && (needsOperator || performance.now() - sinceMs > REPORT_HELD_AFTER_MS)) {
        isReported = true;
        log.error({ alarm: "tokens_held", ...named(row), error }, HELD);
      }
      return true;
    },
  }).finally(() => held.get(uuid) === sealed && held.delete(uuid));
  if (isReported && isStored)
    log.warn(named(row), "The database has taken the tokens that this process held");
  return isStored;
}

const HELD = `Issued tokens cannot be stored; this process alone has them, and retries for ${KEEP_TOKENS_MS / 3_600_000} h. Do not stop it before the database takes them`;

/** Stores held tokens. If this process has claimed the row again during the statement, it retries with the new lease. */
async function storeHeld(db: Context["db"], sealed: SealedTokens): Promise<boolean> {
  for (;;) {
    const { lease } = sealed;
    const storing = storeTokens(db, { ...sealed }).catch(async (error: unknown) => {
      // A database that lacks room may still let another process claim the row and send the used code again.
      if (refusingState(error) !== null) await holdCredential(db, sealed).catch(() => undefined);
      throw error;
    });
    if (await storing) return true;
    if (sealed.lease === lease) return false;
  }
}

/** Reports the end of a refresh to the circuit breaker. A refusal counts as success: it proves that the endpoint works. */
function noteForBreaker({ credentials: { breaker } }: Context, result: CallResult, sentMs: number): void {
  if (result.done === "stored" || result.done === "not_ours") breaker.succeeded(sentMs);
  if (result.done !== "failed") return;
  const { outcome, retryAfterMs } = result.failure;
  if (outcome === "not_issued" || outcome === "unknown") breaker.failed(retryAfterMs);
  else if (outcome !== "bug") breaker.succeeded(sentMs);
}

function noteStored(ctx: Context, row: ClaimedCredential, refreshInSeconds: number): void {
  if (row.state === "grant_pending") {
    ctx.log.info(named(row), "Grant exchanged, tokens sealed");
    ctx.wake.runSteps();
    ctx.wake.runVendorSteps();
    ctx.wake.findLateSteps(AFTER_TOKENS_MS);
  }
  // The sweep is fast enough for tokens that live for hours, but not for a sandbox that issues tokens for seconds.
  if (refreshInSeconds < 60) ctx.wake.refreshTokens(refreshInSeconds * 1_000);
}

/**
 * Stores a failed call and logs it. A refresh that is refused for good, or for another reason than its token, needs an
 * operator and raises an alarm. Other failures are retried.
 */
async function settleFailure(ctx: Context, row: ClaimedCredential, failure: Failure): Promise<void> {
  const verdict = judgeFailure(row, failure, ctx.pace.pauses);
  if (verdict.on?.startsWith("spent")) return endGrant(ctx, row, verdict);
  const isSettled = await settle(ctx.db, row, verdict);
  const { outcome, error } = failure;
  const isGrant = row.state === "grant_pending";
  // A refresh token lives as long as its add-on (platform document, "Token response").
  const isNews = outcome === "token_rejected" && !isGrant && row.rejectedForSeconds === null;
  if (isNews && row.owner === "resource") await doubt(ctx, row.uuid);
  const about = { ...named(row), outcome, error };
  if (isSettled && verdict.on === "refused three times in a day")
    ctx.log.error(
      { alarm: "needs_reauth", ...about },
      "The platform has refused a refresh token for a day; retrying once a day",
    );
  else if (outcome === "bug" && !isGrant)
    ctx.log.error(
      { alarm: "refresh_misunderstood", ...about },
      "The platform refuses a refresh for another reason than its token; still retrying",
    );
  else {
    const what = isGrant ? "Exchange of a grant failed; it will be retried" : "Refresh of a token failed";
    ctx.log.warn({ ...about, againInSeconds: verdict.againInSeconds }, what);
  }
}
