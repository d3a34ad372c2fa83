import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { KitError } from "../errors.ts";
import type { TokenSource } from "../platform/api.ts";
import type { Secret } from "../secret.ts";
import { within } from "../within.ts";
import { refreshNow } from "./refresh.ts";
import { openSealed } from "./sealed.ts";
import { endSignIn, type TokenRow } from "./store.ts";

/**
 * There is no access token to use for a resource or a person; `id` says why: the credential's state, or what prevented
 * a refresh.
 */
export class NoToken extends KitError {
  /** Whether waiting will bring none: true if the credential's state rules it out, false for a fault that passes. */
  readonly isFinal: boolean;
  /** Why the credential is in that state, where the state alone does not say it. */
  readonly reason: string | null;

  constructor(id: string, message: string, isFinal = false, reason: string | null = null) {
    super(id, message);
    this.isFinal = isFinal;
    this.reason = reason;
  }
}

/** A stored pair of tokens, its access token decrypted. */
type Pair = Omit<TokenRow, "sealedAccessToken"> & { token: Secret };

const WITH_TOKENS: readonly string[] = ["active", "needs_reauth", "signed_in"];
/** How often one token is replaced within five minutes because the platform refused it. */
const MOST_FORCED = 2;
const FORCED_WITHIN_MS = 5 * 60_000;
/**
 * Calls of one client within this time share one read of the token. A token that died since is refused by the platform,
 * and then renewed.
 */
const REMEMBERED_MS = 1_000;
/** How long a caller waits for the process that is just refreshing the same token. */
const PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 50;
/** The longest token call (20 s) plus 5 s for storing. Tokens not stored by then are held, but no caller waits for that. */
const LONGEST_REPLACING_MS = 25_000;

/**
 * The access token of one resource or person, for calls to the platform. An expired or refused token is refreshed on
 * use, under the same lease as the sweep's refreshes, and only once, however many callers found it dead.
 */
export function tokensOf(ctx: Context, uuid: string): TokenSource {
  let known: { token: Promise<Secret>; readAt: number } | null = null;

  function remembered(token: Promise<Secret>): Promise<Secret> {
    const now = (known = { token, readAt: performance.now() });
    token.catch(() => {
      if (known === now) known = null;
    });
    return token;
  }

  return {
    current: () =>
      known && performance.now() - known.readAt < REMEMBERED_MS
        ? known.token
        : remembered(readToken(ctx, uuid)),
    renew: (rejected) => remembered(successorOf(ctx, uuid, rejected)),
  };
}

/**
 * Records that the platform refuses even a fresh token of a person: they must sign in again. False: there is another
 * token by now.
 */
export async function giveUpPerson(ctx: Context, uuid: string, refused: Secret): Promise<boolean> {
  const { token, generation } = await stored(ctx, uuid);
  return (
    token.reveal() === refused.reveal() && endSignIn(ctx.db, { uuid, generation }, "access_token_rejected")
  );
}

async function readToken(ctx: Context, uuid: string): Promise<Secret> {
  const { token, isExpired } = await stored(ctx, uuid);
  return isExpired ? renewOnce(ctx, uuid, token, false) : token;
}

async function successorOf(ctx: Context, uuid: string, rejected: Secret): Promise<Secret> {
  const { token, isExpired } = await stored(ctx, uuid);
  return token.reveal() === rejected.reveal() ? renewOnce(ctx, uuid, rejected, !isExpired) : token;
}

async function stored(ctx: Context, uuid: string): Promise<Pair> {
  const row = await ctx.credentials.readTokens(uuid);
  if (!row) throw new NoToken("not_found", `There is no credential of ${uuid}.`, true);
  // A credential that waits for another grant, because its refresh token was refused, may have an access token that
  // still works.
  const mayWork = row.state === "grant_pending" ? !row.isExpired : WITH_TOKENS.includes(row.state);
  if (!row.sealedAccessToken || !mayWork) {
    const why = row.state === "quarantined" ? "cannot be decrypted and is quarantined" : `is ${row.state}`;
    const message = `${uuid} has no access token: its credential ${why}.`;
    throw new NoToken(row.state, message, row.state !== "grant_pending", row.reason);
  }
  const token = await openSealed(
    ctx,
    { uuid, owner: row.owner },
    "sealed_access_token",
    row.sealedAccessToken,
  );
  // Otherwise the row has changed: it is quarantined now, or holds another pair. Read it again.
  return token ? { ...row, token } : stored(ctx, uuid);
}

/** However many callers in this process found the token dead, it is renewed once. */
function renewOnce(ctx: Context, uuid: string, dead: Secret, isForced: boolean): Promise<Secret> {
  const { renewals } = ctx.credentials;
  const running = renewals.get(uuid) ?? renew(ctx, uuid, dead, isForced).finally(() => renewals.delete(uuid));
  renewals.set(uuid, running);
  return running;
}

/** The caller that gets the row's lease first replaces the pair, for all the callers and processes that found it dead. */
async function renew(ctx: Context, uuid: string, dead: Secret, isForced: boolean): Promise<Secret> {
  const until = performance.now() + PATIENCE_MS;
  const stillBusy = () => noToken("busy", uuid, "is being refreshed, or is about to be; try again.");
  let first: number | null = null;
  for (;;) {
    const pair = await stored(ctx, uuid);
    first ??= pair.generation;
    // A refresh may bring the same token again. It is returned, for asking once more would bring nothing else; the
    // caller sees whether it works.
    if (pair.token.reveal() !== dead.reveal() || pair.generation > first) return pair.token;
    if (await within(LONGEST_REPLACING_MS, isReplaced(ctx, pair, isForced), stillBusy)) continue;
    if (performance.now() > until) throw stillBusy();
    await sleep(LOOK_AGAIN_MS);
  }
}

/** Replaces a pair. False: another process is at it, or nothing was sent. Throws what makes it impossible. */
async function isReplaced(
  ctx: Context,
  { uuid, owner, state, canRefresh, generation }: Pair,
  isForced: boolean,
) {
  if (state === "grant_pending") throw noToken(state, uuid, "is dead, and its grant is not exchanged yet.");
  if (!canRefresh) {
    if (owner === "person") await endSignIn(ctx.db, { uuid, generation }, "access_token_rejected");
    const isOver = owner === "person" ? "needs_sign_in" : "needs_reauth";
    throw noToken(isOver, uuid, "is dead and cannot be refreshed any more.", true);
  }
  if (isForced) checkForced(ctx, uuid);
  const result = await refreshNow(ctx, uuid, generation);
  if (result.done === "busy" || result.done === "not_sent" || result.done === "held") return false;
  // The platform refused our client secret, not the token.
  if (result.done === "secret_rejected")
    throw noToken(
      "client_secret_rejected",
      uuid,
      "cannot be refreshed: the platform rejects our client secret.",
    );
  if (isForced) noteForced(ctx, uuid);
  if (result.done === "failed") {
    const { outcome, error } = result.failure;
    const isOver = owner === "person" && outcome === "token_rejected";
    throw noToken(isOver ? "needs_sign_in" : error.id, uuid, `cannot be refreshed: ${error.message}`, isOver);
  }
  return true;
}

function noToken(id: string, uuid: string, why: string, isFinal = false): NoToken {
  return new NoToken(id, `The token of ${uuid} ${why}`, isFinal);
}

/** Prevents asking for new tokens without end when the platform refuses every token. */
function checkForced({ credentials: { forced } }: Context, uuid: string): void {
  if (recent(forced.get(uuid)).length < MOST_FORCED) return;
  throw new NoToken(
    "refused_again",
    `The platform refuses even fresh tokens of ${uuid}; not asking again for now.`,
  );
}

function noteForced({ credentials: { forced } }: Context, uuid: string): void {
  forced.set(uuid, [...recent(forced.get(uuid)), performance.now()]);
  if (forced.size > 10_000) forced.delete(forced.keys().next().value!);
}

const recent = (times: readonly number[] = []) =>
  times.filter((at) => at > performance.now() - FORCED_WITHIN_MS);
