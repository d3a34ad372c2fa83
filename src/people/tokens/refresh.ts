import { storeHeldTokens } from "../../credentials/held-tokens.ts";
import { createWorkerPool } from "../../work/worker-pool.ts";
import type { Log } from "../../logging/log.ts";
import type { NotIssued, TokenEndpoint } from "../../platform/oauth.ts";
import type { Secret } from "../../secret.ts";
import type { Vault } from "../../vault/vault.ts";
import type { OAuthClient } from "../oauth-client.ts";
import type { Opening } from "./opening.ts";
import { personSealContext } from "./seal-context.ts";
import type { ClaimedTokens, Pair, SealedPair, TokenStore } from "./store.ts";

/**
 * `later`: a fault that passes, or our client is rejected; the tokens stay. `refused`: the platform refused for good.
 * `gone`: the person signed in again or out meanwhile. `busy`: another process refreshes or has just refreshed the
 * pair, or the result of an earlier refresh is held here until it can be stored.
 */
export type Refreshed = "fresh" | "later" | "refused" | "gone" | "quarantined" | "busy";

const CLIENT_REJECTED_PAUSE_SECONDS = 60;

/** Refreshes people's tokens at half their lifetime (platform document, "Access token expired … Refresh grant"). */
export function createRefresh(needs: {
  store: TokenStore;
  opening: Opening;
  client: OAuthClient;
  endpoint: TokenEndpoint;
  vault: Vault;
  /** Called when a scheduled refresh ended: a retry may be due soon. */
  onRefreshEnd(): void;
  log: Log;
}) {
  const { store, opening, client, endpoint, vault, onRefreshEnd, log } = needs;

  /** Pairs whose refresh token the platform has replaced, while the replacement is held here until it can be stored. */
  const outdated = new Set<string>();

  async function refresh(row: ClaimedTokens): Promise<Refreshed> {
    const { uuid } = row;
    // Its refresh token is dead. The lease is kept, so that in most cases other processes do not send it either.
    if (outdated.has(nameOf(row))) return "busy";
    const token = await opening.open(uuid, "sealed_refresh_token", row.sealedRefreshToken);
    if (!token) return "quarantined";
    return call(row, token);
  }

  async function call(row: ClaimedTokens, token: Secret): Promise<Refreshed> {
    const { uuid } = row;
    const answer = client.judge(uuid, await endpoint.refresh(token, client.secret));
    if (answer.outcome === "client_rejected") {
      await store.release(row, CLIENT_REJECTED_PAUSE_SECONDS);
      return "later";
    }
    if (answer.outcome !== "issued") return failed(row, answer);
    const { accessToken, refreshToken, lifeSeconds } = answer.tokens;
    const access = vault.seal(personSealContext("sealed_access_token", uuid), accessToken);
    const refresh = refreshToken && vault.seal(personSealContext("sealed_refresh_token", uuid), refreshToken);
    const isReplaced = refreshToken !== null && refreshToken.reveal() !== token.reveal();
    const isStored = await hold(row, {
      access,
      refresh,
      replaces: isReplaced ? row.generation : null,
      lifeSeconds,
    });
    return isStored ? "fresh" : "gone";
  }

  async function hold(row: ClaimedTokens, pair: SealedPair): Promise<boolean> {
    const areOnlyOnes = pair.replaces !== null;
    if (areOnlyOnes) outdated.add(nameOf(row));
    try {
      return await storeHeldTokens(() => store.store(row, pair), {
        areOnlyOnes,
        onTrouble: (error) =>
          log.error(
            { person: row.uuid, error },
            "A person's tokens cannot be stored; they are held and tried again",
          ),
      });
    } finally {
      outdated.delete(nameOf(row));
    }
  }

  async function failed(row: ClaimedTokens, { outcome, error, retryAfterMs }: NotIssued): Promise<Refreshed> {
    const { uuid: person } = row;
    if (outcome === "token_rejected") {
      if (!(await store.refuse(row))) return "gone";
      log.warn({ person, error }, "The platform refuses a person's refresh token: they must sign in again");
      return "refused";
    }
    const againInSeconds = Math.max(pauseSeconds(row.attempts), (retryAfterMs ?? 0) / 1000);
    await store.putOff(row, againInSeconds, `${error.id}: ${error.message}`);
    const told = { person, outcome, error, againInSeconds: Math.round(againInSeconds * 10) / 10 };
    log.warn(told, "A person's token could not be refreshed yet");
    return "later";
  }

  /**
   * Called before any of the claimed rows is sent, so that the next claim is not a second probe of a rejected client.
   */
  function noteAsking(rows: readonly ClaimedTokens[]): void {
    if (rows.some((row) => !outdated.has(nameOf(row)))) client.asking();
  }

  async function claim(most: number): Promise<ClaimedTokens[]> {
    const allowed = Math.min(most, client.allowance());
    const rows = allowed > 0 ? await store.claimDue(allowed) : [];
    noteAsking(rows);
    return rows;
  }

  const refreshes = createWorkerPool({
    claim,
    async handle(row) {
      await refresh(row).catch((error: unknown) =>
        log.error(
          { person: row.uuid, error },
          "A refresh of a person's token failed; its lease ends by itself",
        ),
      );
    },
    concurrency: 10,
    onEnd: onRefreshEnd,
  });

  const asked = new Set<Promise<unknown>>();

  async function refreshOne(pair: Pair): Promise<Refreshed> {
    if (client.allowance() === 0) return "later";
    const row = await store.claimOne(pair);
    if (!row) return "busy";
    noteAsking([row]);
    return refresh(row);
  }

  return {
    /**
     * Starts refreshing every pair that is due; while our client is rejected, one a minute. Returns how many rows it
     * claimed.
     */
    due: refreshes.fill,
    /** Refreshes one pair now, due or not. */
    now(pair: Pair): Promise<Refreshed> {
      const answer = refreshOne(pair).finally(() => asked.delete(answer));
      asked.add(answer);
      return answer;
    },
    /**
     * Resolves when no refresh is under way: neither a scheduled one, nor one by `now`, even if its caller no longer
     * waits.
     */
    async settled(): Promise<void> {
      await refreshes.settled();
      while (asked.size > 0) await Promise.allSettled(asked);
    },
  };
}

export type Refresh = ReturnType<typeof createRefresh>;

const nameOf = ({ uuid, signedInAt, generation }: Pair) => `${uuid} ${signedInAt} ${generation}`;

/** 5, 10, 20 … 300 seconds, with jitter, so that rows that failed together are not retried together. */
function pauseSeconds(attempts: number): number {
  return Math.min(5 * 2 ** Math.min(attempts, 6), 300) * (0.75 + Math.random() / 2);
}
