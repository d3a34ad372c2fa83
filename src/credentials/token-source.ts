import { createGroupCommit, isDataError, statement, type Queryable } from "../database/database.ts";
import { KitError } from "../errors.ts";
import type { TokenSource } from "../platform/api.ts";
import { tokenAfter } from "../platform/token-after.ts";
import type { Secret } from "../secret.ts";
import type { Opening } from "./opening.ts";
import type { Refresh } from "./refresh.ts";

/**
 * There is no access token to use for a resource; `id` says why: its credential's state, or what prevented a refresh.
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

interface TokenRow {
  uuid: string;
  state: string;
  reason: string | null;
  sealedAccessToken: Buffer | null;
  isExpired: boolean;
  canRefresh: boolean;
  generation: number;
}

const readTokens = statement(
  "read_tokens",
  `SELECT uuid, state, reason, sealed_access_token AS "sealedAccessToken", coalesce(expires_at <= now(), true) AS "isExpired",
     state = 'active' AND sealed_refresh_token IS NOT NULL AS "canRefresh", generation
   FROM credentials WHERE uuid = ANY($1::uuid[])`,
);

const WITH_TOKENS = ["active", "needs_reauth"];

/** How often one resource's token is replaced within five minutes because the platform refused it. */
const MOST_FORCED = 2;
const FORCED_WITHIN_MS = 5 * 60_000;

/**
 * Calls of one client within this time share one read of the token. A token that died since is refused by the platform,
 * and then renewed.
 */
const REMEMBERED_MS = 1_000;

/**
 * The access token of one resource, for calls to the platform. An expired or refused token is refreshed on use, under
 * the same lease as the sweep's refreshes, and only once, however many callers found it dead.
 */
export function createTokenSources({
  db,
  opening,
  refresh,
}: {
  db: Queryable;
  opening: Opening;
  refresh: Refresh;
}) {
  const renewals = new Map<string, Promise<Secret>>();
  const forced = new Map<string, number[]>();

  // What is asked for at the same moment is read with one statement: dozens of steps run at once, and each of them asks.
  const readRow = createGroupCommit<string, TokenRow | undefined>({
    maxQueued: Infinity,
    isWorthAlone: isDataError,
    async write(uuids) {
      const rows = await db.query<TokenRow>(readTokens, [uuids]);
      const byUuid = new Map(rows.map((row) => [row.uuid, row]));
      return uuids.map((uuid) => byUuid.get(uuid));
    },
  });

  async function stored(uuid: string): Promise<Omit<TokenRow, "sealedAccessToken"> & { token: Secret }> {
    const row = await readRow(uuid);
    if (!row) throw new NoToken("not_found", `There is no resource ${uuid}.`, true);
    // A credential that waits for another grant, because its refresh token was refused, may have an access token that
    // still works.
    const mayWork = row.state === "grant_pending" ? !row.isExpired : WITH_TOKENS.includes(row.state);
    if (!row.sealedAccessToken || !mayWork) {
      const why = row.state === "quarantined" ? "does not open and was put aside" : `is ${row.state}`;
      const message = `Resource ${uuid} has no access token: its credential ${why}.`;
      throw new NoToken(row.state, message, row.state !== "grant_pending", row.reason);
    }
    const token = await opening.open({ uuid }, "sealed_access_token", row.sealedAccessToken);
    // Otherwise the row has changed: it is quarantined now, or holds another pair. Read it again.
    return token ? { ...row, token } : stored(uuid);
  }

  function renew(uuid: string, dead: Secret, isForced: boolean): Promise<Secret> {
    const because = (id: string, why: string, isFinal = false) =>
      new NoToken(id, `The token of ${uuid} ${why}`, isFinal);
    return tokenAfter(dead, {
      stored: () => stored(uuid),
      async replace({ state, canRefresh, generation }) {
        if (state === "grant_pending") throw because(state, "is dead, and its grant is not exchanged yet.");
        if (!canRefresh) throw because("needs_reauth", "is dead and cannot be refreshed any more.", true);
        if (isForced) checkForced(uuid);
        const result = await refresh.now(uuid, generation);
        // Another process is refreshing it; or nothing was sent, as the secret was replaced, or the lease ran short,
        // between claim and call.
        if (result.done === "busy" || result.done === "not_sent") return "busy";
        // The platform refused our client secret, not the token.
        if (result.done === "secret_rejected")
          throw because(
            "client_secret_rejected",
            "cannot be refreshed: the platform rejects our client secret.",
          );
        if (isForced) noteForced(uuid);
        if (result.done === "failed") {
          const { id, message } = result.failure.error;
          throw because(id, `cannot be refreshed: ${message}`);
        }
        return "done";
      },
      stillBusy: () => because("busy", "is being refreshed, or is about to be; try again."),
    });
  }

  /** Prevents asking for new tokens without end when the platform refuses every token. */
  function checkForced(uuid: string): void {
    if (recentlyForced(uuid).length >= MOST_FORCED) {
      throw new NoToken(
        "refused_again",
        `The platform refuses even fresh tokens of ${uuid}; not asking again for now.`,
      );
    }
  }

  const recentlyForced = (uuid: string) =>
    (forced.get(uuid) ?? []).filter((at) => at > performance.now() - FORCED_WITHIN_MS);

  function noteForced(uuid: string): void {
    forced.set(uuid, [...recentlyForced(uuid), performance.now()]);
    if (forced.size > 10_000) forced.delete(forced.keys().next().value!);
  }

  function renewOnce(uuid: string, dead: Secret, isForced: boolean): Promise<Secret> {
    const running = renewals.get(uuid) ?? renew(uuid, dead, isForced).finally(() => renewals.delete(uuid));
    renewals.set(uuid, running);
    return running;
  }

  return function tokensOf(uuid: string): TokenSource {
    let known: { token: Promise<Secret>; readAt: number } | null = null;

    async function read(): Promise<Secret> {
      const { token, isExpired } = await stored(uuid);
      return isExpired ? renewOnce(uuid, token, false) : token;
    }

    async function successorOf(rejected: Secret): Promise<Secret> {
      const { token, isExpired } = await stored(uuid);
      return token.reveal() === rejected.reveal() ? renewOnce(uuid, rejected, !isExpired) : token;
    }

    function remembered(token: Promise<Secret>): Promise<Secret> {
      const now = (known = { token, readAt: performance.now() });
      token.catch(() => {
        if (known === now) known = null;
      });
      return token;
    }

    return {
      current: () =>
        known && performance.now() - known.readAt < REMEMBERED_MS ? known.token : remembered(read()),
      renew: (rejected) => remembered(successorOf(rejected)),
    };
  };
}
