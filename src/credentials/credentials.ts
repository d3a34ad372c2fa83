import type { Config } from "../config.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import { createClientSecrets, type Needs } from "./client-secret.ts";
import { createExchangeLanes } from "./exchange-lanes.ts";
import { grantsWaiting } from "./queue.ts";
import type { SealedTokens } from "./store.ts";
import type { CallResult } from "./verdict.ts";

/** What this folder's functions remember between calls. */
export type Credentials = ReturnType<typeof createCredentials>;

export function createCredentials(
  ctx: Needs & { config: Config; metrics: { breakerOpens(): void } },
  endpoint: TokenEndpoint,
) {
  const { oauthClientId: id, oauthClientSecret: secret, tokenConcurrency } = ctx.config;
  return {
    endpoint,
    secrets: createClientSecrets(ctx),
    /** The client that people sign in with; null: they cannot sign in here. */
    people: id && secret ? { id, secret } : null,
    takeTurn: createTurns(tokenConcurrency),
    lanes: createExchangeLanes(tokenConcurrency, () => grantsWaiting(ctx.db)),
    breaker: createBreaker(ctx.metrics.breakerOpens),
    /** Rows whose newest tokens are in memory, until they can be stored. */
    held: new Map<string, SealedTokens>(),
    /** Refreshes on use that are under way, by uuid. */
    onUse: new Map<string, Promise<CallResult>>(),
    /** When tokens were last replaced because the platform refused them (ms, monotonic). */
    forced: new Map<string, number[]>(),
  };
}

const FAILURES_TO_OPEN = 5;
const PROBE_EVERY_MS = 15_000;

/** Holds refreshes back while the token endpoint fails or asks for rest (`Retry-After`). Grants have only minutes. */
function createBreaker(onHeldBack: () => void) {
  let failures = 0;
  let restsUntil = 0;
  let restAskedAt = -Infinity;
  return {
    /** How many refreshes may be started now. */
    allowance(): number {
      if (performance.now() < restsUntil) return 0;
      if (failures < FAILURES_TO_OPEN) return Infinity;
      restsUntil = performance.now() + PROBE_EVERY_MS;
      return 1;
    },
    /** `sentMs`: when that call began. A call begun before the platform asked for rest does not end the rest. */
    succeeded(sentMs: number): void {
      failures = 0;
      if (sentMs > restAskedAt) restsUntil = 0;
    },
    failed(retryAfterMs = 0): void {
      failures += 1;
      if (retryAfterMs > 0) restAskedAt = performance.now();
      const opens = failures === FAILURES_TO_OPEN;
      if (failures >= FAILURES_TO_OPEN) onHeldBack();
      const restMs = Math.max(retryAfterMs, opens ? PROBE_EVERY_MS : 0);
      restsUntil = Math.max(restsUntil, performance.now() + restMs);
    },
  };
}

/** At most so many calls at once; others wait, grants first. Resolves to what passes the turn on. */
function createTurns(most: number): (isGrant: boolean) => Promise<() => void> {
  const grants: (() => void)[] = [];
  const pairs: (() => void)[] = [];
  let free = most;
  const pass = (): void => {
    const goOn = grants.shift() ?? pairs.shift();
    if (goOn) goOn();
    else free += 1;
  };
  return async (isGrant) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((goOn) => (isGrant ? grants : pairs).push(goOn));
    return pass;
  };
}
