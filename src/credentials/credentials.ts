import type { Config } from "../config.ts";
import type { Database } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Scrubber } from "../logging/scrubber.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { createAdmission } from "./admission.ts";
import { createBreaker } from "./breaker.ts";
import { createClientSecrets, createPeopleClient } from "./client-secret.ts";
import { createMarkSent } from "./queue.ts";
import { createReadTokens, createStoreTokens } from "./store.ts";
import { createTurns } from "./turns.ts";

/** What the functions of this room remember between calls; a process makes it once. */
export type Credentials = ReturnType<typeof createCredentials>;

export function createCredentials(needs: {
  config: Pick<Config, "tokenConcurrency" | "oauthClientId" | "oauthClientSecret">;
  db: Database;
  vault: Vault;
  scrubber: Scrubber;
  log: Log;
  metrics: { breakerOpens(): void };
  endpoint: TokenEndpoint;
}) {
  const { config, db, log, metrics, endpoint } = needs;
  const { oauthClientId: id, oauthClientSecret: secret } = config;
  const secrets = createClientSecrets(needs);
  return {
    endpoint,
    /** The versions of our client secret. */
    secrets,
    /** The gates of the two clients: the one that resources' tokens belong to, and the one that people sign in with. */
    resources: createAdmission(secrets),
    /** Null: people cannot sign in here. */
    people: id && secret ? createAdmission(createPeopleClient({ id, secret }, log)) : null,
    turns: createTurns(config.tokenConcurrency),
    breaker: createBreaker(metrics.breakerOpens),
    markSent: createMarkSent(db),
    storeTokens: createStoreTokens(db),
    readTokens: createReadTokens(db),
    /** Rows whose only valid refresh token is in memory, until it can be stored. */
    held: new Set<string>(),
    /** Refreshes that callers asked for, so that a stop can wait for those whose caller went away. */
    asked: new Set<Promise<unknown>>(),
    /** Dead tokens that are being renewed in this process. */
    renewals: new Map<string, Promise<Secret>>(),
    /** When tokens were last replaced because the platform refused them (ms, monotonic). */
    forced: new Map<string, number[]>(),
  };
}
