import type { Context } from "../context.ts";
import {
  isConnectionConfigError,
  isDataError,
  isTransient,
  retryWhileUnreachable,
} from "../database/database.ts";
import { doubt } from "../ledgers/marks.ts";
import type { Failure, IssuedTokens } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import { credentialSealContext } from "../vault/vault.ts";
import { holdsBack, judgePersons, type ClientSecret, type JudgedAnswer } from "./client-secret.ts";
import { endGrant } from "./lost-grants.ts";
import { AROUND_CALL, markSent, releaseCredential, settle, type ClaimedCredential } from "./queue.ts";
import { named, openSealed } from "./sealed.ts";
import { storeTokens, type SealedTokens } from "./store.ts";
import { judgeFailure, shareOfLife, type CallResult } from "./verdict.ts";

/** A claimed row. */
export interface Admitted {
  row: ClaimedCredential;
  /** Null: of a person's pair, which is refreshed with that of `OAUTH_CLIENT_ID`. */
  secret: ClientSecret | null;
  /** The one call a minute that finds out whether a rejected secret is accepted again. */
  isProbe: boolean;
}

/** How long tokens that cannot be stored are tried again; those of a grant cannot be had again. */
const KEEP_TOKENS_MS = 3_600_000;
/** Before a look for steps that were put off while their tokens were being stored: one serves a burst. */
const AFTER_TOKENS_MS = 5_000;

/**
 * One call to the token endpoint for a claimed row, and what becomes of the row. It waits for a turn until `noNewCalls`
 * is aborted; null: a caller waits for this one token, so it goes out at once.
 */
export async function callTokens(
  ctx: Context,
  admitted: Admitted,
  noNewCalls: AbortSignal | null,
): Promise<CallResult> {
  const { row } = admitted;
  // The code or refresh token in the row has been answered: what is held is stored under this lease too.
  const held = ctx.credentials.held.get(row.uuid);
  if (held?.generation === row.generation) {
    held.lease = row.lease;
    // The lease is kept, so that in most cases no other process sends the dead code or token either.
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
  if (row.state !== "grant_pending") heed(ctx, result, sentMs);
  if (result.done === "stored") noteStored(ctx, row, result.refreshInSeconds);
  // A quarantined row stays so until tokens are stored, whatever the platform says of those it holds.
  else if (row.state === "quarantined" || result.done === "not_sent" || result.done === "secret_rejected")
    await releaseCredential(ctx.db, row);
  else if (result.done === "failed") await settleFailure(ctx, row, result.failure);
  return result;
}

/** In the order that loses nothing: decrypt the row's secret, wait for a turn, mark, call, store. */
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
  // Nothing may come between the answer and its storing.
  const share = shareOfLife(row.uuid);
  const isStored = await storeIssued(ctx, admitted, sent, answer.tokens, share);
  const notNoted = (error: unknown) =>
    ctx.log.warn({ error }, "That our client secret is accepted is stored after the next call");
  if (secret) await ctx.credentials.secrets.accepted(secret).catch(notNoted);
  if (isStored) return { done: "stored", refreshInSeconds: answer.tokens.lifeSeconds * share };
  // If the platform has killed the stored token by this late success, the first call that it refuses (401) replaces it.
  ctx.log.warn(named(row), "Tokens arrived after their lease was lost, and were not stored");
  return { done: "not_ours" };
}

/** Sends the call once it has its turn, and if secret and lease are still good; null: nothing was sent. */
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
    // The secret may have been rejected, or replaced, since the claim.
    const now = secret && (secrets.cached() ?? (await retryWhileUnreachable(secrets.current, AROUND_CALL)));
    if (now && (now.version !== secret.version || (holdsBack(now, isGrant) && !isProbe))) return null;
    if (!(await markSent(db, row))) return null;
    const kind = isGrant ? ("exchange" as const) : ("refresh" as const);
    const answer = await endpoint[kind](credential, secret?.value ?? people!.secret);
    metrics[kind](answer.outcome);
    // Before the turn is passed on: the next call in line must not send a rejected secret again.
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
  let isLogged = false;
  held.set(uuid, sealed);
  return retryWhileUnreachable(() => storeHeld(db, sealed), {
    upToMs: KEEP_TOKENS_MS,
    // Every error is tried again, as an operator may remove its cause, except a fault of the values themselves.
    isCurable(error) {
      const needsSomebody = !isTransient(error) || isConnectionConfigError(error);
      if (needsSomebody && !isLogged)
        log.error({ ...named(row), error }, "Tokens cannot be stored; they are held and tried again");
      isLogged ||= needsSomebody;
      return !isDataError(error);
    },
  }).finally(() => held.get(uuid) === sealed && held.delete(uuid));
}

/** Until they are stored or the lease is lost; this process may claim the row again in between. */
async function storeHeld(db: Context["db"], sealed: SealedTokens): Promise<boolean> {
  for (;;) {
    const { lease } = sealed;
    if (await storeTokens(db, { ...sealed })) return true;
    if (sealed.lease === lease) return false;
  }
}

/** Tells the circuit breaker how a refresh ended. A refusal proves that the endpoint is up. */
function heed({ credentials: { breaker } }: Context, result: CallResult, sentMs: number): void {
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
  // Tokens live for hours. A sandbox may give them a life of seconds, which would end before the next sweep.
  if (refreshInSeconds < 60) ctx.wake.refreshTokens(refreshInSeconds * 1_000);
}

/** What needs a person is an alarm: a refresh called malformed, or refused for good. Other trouble passes. */
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
    ctx.log.error({ alarm: "needs_reauth", ...about }, "The platform refuses a refresh token for good");
  else if (outcome === "bug" && !isGrant)
    ctx.log.error(
      { alarm: "refresh_misunderstood", ...about },
      "The platform refuses a refresh for another reason than its token",
    );
  else {
    const what = isGrant ? "A grant is not exchanged yet" : "A token could not be refreshed";
    ctx.log.warn({ ...about, againInSeconds: verdict.againInSeconds }, what);
  }
}
