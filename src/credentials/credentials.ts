import type { Config } from "../config.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import { createClientSecrets, type Needs } from "./client-secret.ts";
import { createExchangeLanes } from "./exchange-lanes.ts";
import { grantsWaiting } from "./queue.ts";
import type { SealedTokens } from "./store.ts";
import type { CallResult } from "./verdict.ts";

/** The state that the functions of this folder keep between calls. */
export type Credentials = ReturnType<typeof createCredentials>;

export function createCredentials(
  ctx: Needs & { config: Config; metrics: { breakerOpens(): void } },
  endpoint: TokenEndpoint,
) {
  const { oauthClientId: id, oauthClientSecret: secret, tokenConcurrency } = ctx.config;
  return {
    endpoint,
    secrets: createClientSecrets(ctx),
    /** The OAuth client for the sign-in of people; `null` if they cannot sign in here. */
    people: id && secret ? { id, secret } : null,
    takeTurn: createTurns(tokenConcurrency),
    lanes: createExchangeLanes(tokenConcurrency, () => grantsWaiting(ctx.db)),
    breaker: createBreaker(ctx.metrics.breakerOpens),
    /** By uuid, the issued tokens that the database has not stored yet. */
    held: new Map<string, SealedTokens>(),
    /** By uuid, the running refreshes that callers wait for. */
    onUse: new Map<string, Promise<CallResult>>(),
    /** By uuid, when tokens were replaced because the platform refused them (ms, monotonic). */
    forced: new Map<string, number[]>(),
  };
}

const FAILURES_TO_OPEN = 5;
const PROBE_EVERY_MS = 15_000;

/**
 * Stops refreshes while the token endpoint fails or sends `Retry-After`. Exchanges of grants, which have only minutes,
 * are not stopped.
 */
function createBreaker(onHeldBack: () => void) {
  let failures = 0;
  let restsUntil = 0;
  let restRequestedAt = -Infinity;
  return {
    /** How many refreshes may be started now. */
    allowance(): number {
      if (performance.now() < restsUntil) return 0;
      if (failures < FAILURES_TO_OPEN) return Infinity;
      restsUntil = performance.now() + PROBE_EVERY_MS;
      return 1;
    },
    /** `sentMs`: when the call began. A call that began before the platform requested a rest does not end the rest. */
    succeeded(sentMs: number): void {
      failures = 0;
      if (sentMs > restRequestedAt) restsUntil = 0;
    },
    failed(retryAfterMs = 0): void {
      failures += 1;
      if (retryAfterMs > 0) restRequestedAt = performance.now();
      const opens = failures === FAILURES_TO_OPEN;
      if (failures >= FAILURES_TO_OPEN) onHeldBack();
      const restMs = Math.max(retryAfterMs, opens ? PROBE_EVERY_MS : 0);
      restsUntil = Math.max(restsUntil, performance.now() + restMs);
    },
  };
}

/**
 * Limits the concurrent token calls to `most`. Waiting exchanges of grants go before waiting refreshes. Resolves to a
 * function that ends the caller's turn.
 */
function createTurns(most: number): (isGrant: boolean) => Promise<() => void> {
  const grants: (() => void)[] = [];
  const pairs: (() => void)[] = [];
  let free = most;
  const pass = (): void => {
    const next = grants.shift() ?? pairs.shift();
    if (next) next();
    else free += 1;
  };
  return async (isGrant) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => (isGrant ? grants : pairs).push(resolve));
    return pass;
  };
}
