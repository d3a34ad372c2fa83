import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import type { TokenSource } from "../platform/api.ts";
import { NoToken } from "../platform/call.ts";
import type { Secret } from "../secret.ts";
import { within } from "../within.ts";
import { refreshNow } from "./pools.ts";
import { openSealed } from "./sealed.ts";
import { readTokens, type TokenRow } from "./store.ts";

type Pair = TokenRow & { token: Secret };

const WITH_TOKENS: readonly string[] = ["active", "needs_reauth"];
/** How often the tokens of one resource are replaced within five minutes because the platform refused them. */
const MOST_FORCED = 2;
const FORCED_WITHIN_MS = 5 * 60_000;
/** How long a caller waits for another process that refreshes the same token. */
const PATIENCE_MS = 5_000;
/** The longest token call (20 s) and 5 s to store its outcome. */
const LONGEST_REPLACING_MS = 25_000;

/** The tokens for calls to the platform. An invalid token is refreshed once, for all callers that found it invalid. */
export const tokensOf = (ctx: Context, uuid: string): TokenSource => ({
  current: () => usable(ctx, uuid, null),
  renew: (rejected) => usable(ctx, uuid, rejected),
});

async function stored(ctx: Context, uuid: string): Promise<Pair> {
  const row = await readTokens(ctx.db, uuid);
  if (!row) throw new NoToken("not_found", `There is no credential for ${uuid}.`, true);
  // A credential whose refresh token was refused may wait for another grant while its access token still works.
  const mayWork = row.state === "grant_pending" ? !row.isExpired : WITH_TOKENS.includes(row.state);
  if (!row.sealedAccessToken || !mayWork) {
    const why = row.state === "quarantined" ? "cannot be decrypted and is quarantined" : `is ${row.state}`;
    const message = `${uuid} has no access token: its credential ${why}.`;
    throw new NoToken(row.state, message, row.state !== "grant_pending");
  }
  const token = await openSealed(ctx, row, "sealed_access_token", row.sealedAccessToken);
  // Without a token the row has changed: it is quarantined or has another pair. The second read reports which.
  return token ? { ...row, token } : stored(ctx, uuid);
}

/** A valid token. The first caller that gets the row's lease replaces an invalid pair for all callers and processes. */
async function usable(ctx: Context, uuid: string, rejected: Secret | null): Promise<Secret> {
  const until = performance.now() + PATIENCE_MS;
  const first = await stored(ctx, uuid);
  for (let pair = first; ; pair = await stored(ctx, uuid)) {
    const isInvalid = pair.isExpired || pair.token.reveal() === rejected?.reveal();
    // A refresh may return the same token, and a further refresh would too, so the caller gets it.
    if (!isInvalid || pair.generation > first.generation) return pair.token;
    if (await replacePair(ctx, pair)) continue;
    if (performance.now() > until) throw stillBusy(uuid);
    await sleep(50);
  }
}

/**
 * Replaces a pair. Returns `false` if another process is replacing the pair or no call was sent. Throws a `NoToken` if the
 * pair cannot be replaced.
 */
async function replacePair(ctx: Context, pair: Pair): Promise<boolean> {
  const { uuid, state, canRefresh, generation, isExpired } = pair;
  const { onUse, forced } = ctx.credentials;
  if (state === "grant_pending")
    throw noToken(state, uuid, "is invalid, and the new grant is not exchanged yet.");
  if (!canRefresh) throw noToken("needs_reauth", uuid, "is invalid and can no longer be refreshed.", true);
  // Limits the refreshes while the platform refuses every token.
  const isForced = !isExpired && !onUse.has(uuid);
  const times = (forced.get(uuid) ?? []).filter((at) => at > performance.now() - FORCED_WITHIN_MS);
  if (isForced && times.length >= MOST_FORCED)
    throw noToken(
      "refused_again",
      uuid,
      "is refused although it is new; it is not refreshed for five minutes.",
    );
  const result = await within(LONGEST_REPLACING_MS, refreshNow(ctx, uuid, generation), () => stillBusy(uuid));
  if (result.done === "busy" || result.done === "not_sent" || result.done === "held") return false;
  const secretRejected = "cannot be refreshed: the platform rejects the client secret.";
  if (result.done === "secret_rejected") throw noToken("client_secret_rejected", uuid, secretRejected);
  if (isForced) forced.set(uuid, [...times, performance.now()]);
  if (forced.size > 10_000) forced.delete(forced.keys().next().value!);
  if (result.done === "failed") {
    const { id, message } = result.failure.error;
    throw noToken(id, uuid, `cannot be refreshed: ${message}`);
  }
  return true;
}

const noToken = (id: string, uuid: string, why: string, isFinal = false) =>
  new NoToken(id, `The token of ${uuid} ${why}`, isFinal);
const stillBusy = (uuid: string) =>
  noToken("busy", uuid, "is being refreshed by another process; try again.");
