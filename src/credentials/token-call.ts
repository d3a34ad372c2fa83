import type { Context } from "../context.ts";
import {
  isConnectionConfigError,
  isDataError,
  isTransient,
  retryWhileDatabaseAway,
} from "../database/database.ts";
import type { IssuedTokens } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import type { Admitted, JudgedAnswer } from "./admission.ts";
import { isMarked, releaseCredential, type ClaimedCredential } from "./queue.ts";
import { credentialSealContext, named, openSealed } from "./sealed.ts";
import type { TakeTurn } from "./turns.ts";
import { shareOfLife } from "./verdict.ts";

export type CallResult =
  /** The tokens are stored; their next refresh is due in this many seconds. */
  | { done: "stored"; refreshInSeconds: number }
  /**
   * `not_ours`: tokens were issued but not stored, as the lease was lost. `quarantined`: the row's secret does not
   * open. `held`: the row's newest tokens are in this process's memory, until the database takes them.
   */
  | { done: "not_ours" | "quarantined" | "held" }
  /**
   * Nothing was sent, or the platform rejects the client secret, which says nothing about the row: it is released as it
   * was.
   */
  | { done: "not_sent" | "secret_rejected" }
  | { done: "failed"; failure: Exclude<JudgedAnswer, { outcome: "issued" }> };

/**
 * How long tokens that cannot be stored are held in memory and tried again. Those of a grant, and a refresh token that
 * replaced ours, cannot be had again: they are held for an hour, or until the process ends, 25 s after it was told to
 * stop. Any other refresh can be repeated.
 */
const KEEP_ONLY_TOKENS_MS = 3_600_000;
const KEEP_TOKENS_MS = 20_000;

/**
 * One call to the token endpoint for one claimed row, in the order that loses nothing: decrypt the row's secret, wait
 * for a turn, mark, call, store. The caller judges what a failure means.
 */
export async function callTokenEndpoint(
  ctx: Context,
  admitted: Admitted,
  takeTurn: TakeTurn,
): Promise<CallResult> {
  const { row, client } = admitted;
  // The refresh token in the row is dead. The lease is kept, so that in most cases no other process sends it either.
  if (ctx.credentials.held.has(row.uuid)) return { done: "held" };
  const sent =
    row.state === "grant_pending"
      ? await openSealed(ctx, row, "sealed_grant_code", row.sealedGrantCode)
      : await openSealed(ctx, row, "sealed_refresh_token", row.sealedRefreshToken);
  if (!sent) return { done: "quarantined" };
  const answer = await send(ctx, admitted, sent, takeTurn);
  // Our secret is wrong, not the row's: the row keeps its state.
  if (!answer || answer.outcome === "client_rejected") {
    await releaseCredential(ctx, row);
    return { done: answer ? "secret_rejected" : "not_sent" };
  }
  if (answer.outcome !== "issued") return { done: "failed", failure: answer };
  // Nothing may come between the answer and its storing.
  const isStored = await storeIssued(ctx, admitted, sent, answer.tokens);
  // A success that came too late: if the platform has killed the stored token by it, the first call that is refused
  // for that (401) replaces it.
  if (!isStored)
    ctx.log.warn(
      named({ uuid: row.uuid, owner: row.owner }),
      "Tokens arrived after their lease was lost, and were not stored",
    );
  await client.accepted(admitted);
  if (!isStored) return { done: "not_ours" };
  return { done: "stored", refreshInSeconds: answer.tokens.lifeSeconds * shareOfLife(row.uuid) };
}

/** Sends the call once it has its turn, and if secret and lease are still good; null: nothing was sent. */
async function send(
  { credentials: { endpoint, markSent } }: Context,
  admitted: Admitted,
  credential: Secret,
  takeTurn: TakeTurn,
): Promise<JudgedAnswer | null> {
  const { row, client, secret } = admitted;
  const passTurn = await takeTurn();
  if (!passTurn) return null;
  try {
    if (!(await client.isStillGood(admitted))) return null;
    if (!isMarked(row) && !(await markSent(row))) return null;
    const call = row.state === "grant_pending" ? endpoint.exchange : endpoint.refresh;
    const answer = await call(credential, secret.value);
    // Before the turn is passed on: the next call in line must not send a rejected secret again.
    return await client.judge(admitted, answer);
  } finally {
    passTurn();
  }
}

async function storeIssued(
  { vault, log, credentials: { storeTokens, held } }: Context,
  { row, secret }: Admitted,
  sent: Secret,
  { accessToken, refreshToken, lifeSeconds, flags }: IssuedTokens,
): Promise<boolean> {
  const { uuid, owner } = row;
  const isFirst = row.state === "grant_pending";
  const isReplaced = !isFirst && refreshToken !== null && refreshToken.reveal() !== sent.reveal();
  const seal = (column: "sealed_access_token" | "sealed_refresh_token", token: Secret) =>
    vault.seal(credentialSealContext(column, uuid, owner), token);
  const sealed = {
    ...{ uuid, lease: row.lease, first: isFirst, replaces: isReplaced ? row.generation : null },
    access: seal("sealed_access_token", accessToken),
    refresh: refreshToken && seal("sealed_refresh_token", refreshToken),
    ...{ lifeSeconds, share: shareOfLife(uuid), secretVersion: owner === "person" ? null : secret.version },
    // A refresh that brings no refresh token keeps the existing one, so this flag would be wrong.
    flags: flags.filter((flag) => isFirst || flag !== "no_refresh_token").join(),
  };
  if (isFirst && !refreshToken)
    log.error(
      { alarm: "no_refresh_token", ...named(row) },
      "The platform sent no refresh token: access ends with this token",
    );
  if (!isFirst && !isReplaced)
    return retryWhileDatabaseAway(() => storeTokens(sealed), { upToMs: KEEP_TOKENS_MS });
  if (isReplaced) held.add(uuid);
  return holdUntilStored(() => storeTokens(sealed), row, log).finally(() => held.delete(uuid));
}

/**
 * For tokens that no other call can bring again: every error is tried again, as an operator may remove its cause
 * meanwhile, except a fault of the values themselves. The first one that does not pass by itself is logged.
 */
function holdUntilStored(
  store: () => Promise<boolean>,
  row: ClaimedCredential,
  log: Context["log"],
): Promise<boolean> {
  let isTold = false;
  return retryWhileDatabaseAway(store, {
    upToMs: KEEP_ONLY_TOKENS_MS,
    isCurable(error) {
      if (isDataError(error)) return false;
      const needsSomebody = !isTransient(error) || isConnectionConfigError(error);
      if (needsSomebody && !isTold)
        log.error({ ...named(row), error }, "Tokens cannot be stored; they are held and tried again");
      isTold ||= needsSomebody;
      return true;
    },
  });
}
