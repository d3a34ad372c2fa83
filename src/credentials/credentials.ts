import type { Config } from "../config.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import { createClientSecrets, type Needs } from "./client-secret.ts";
import { createBreaker, createTurns } from "./gates.ts";
import type { CallResult } from "./verdict.ts";

/** What the functions of this room remember between calls; a process makes it once. */
export type Credentials = ReturnType<typeof createCredentials>;

export function createCredentials(
  ctx: Needs & { config: Config; metrics: { breakerOpens(): void } },
  endpoint: TokenEndpoint,
) {
  const { oauthClientId: id, oauthClientSecret: secret, tokenConcurrency } = ctx.config;
  return {
    endpoint,
    /** The versions of the secret that resources' tokens belong to. */
    secrets: createClientSecrets(ctx),
    /** The client that people sign in with; null: they cannot sign in here. */
    people: id && secret ? { id, secret } : null,
    takeTurn: createTurns(tokenConcurrency),
    breaker: createBreaker(ctx.metrics.breakerOpens),
    /** Rows whose newest tokens are in memory, until they can be stored. */
    held: new Set<string>(),
    /** Refreshes that callers asked for: one for all of a row's callers, and a stop waits for them. */
    asked: new Map<string, Promise<CallResult | { done: "busy" }>>(),
    /** When tokens were last replaced because the platform refused them (ms, monotonic). */
    forced: new Map<string, number[]>(),
  };
}
