import type { Database } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import type { TokenSource } from "../platform/api.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import type { Scrubber } from "../logging/scrubber.ts";
import type { Vault } from "../vault/vault.ts";
import type { GrantsFirst } from "../work/grants-first.ts";
import { createAdmission } from "./admission.ts";
import { createTokenCall } from "./token-call.ts";
import { createClaims, type Claims } from "./claims.ts";
import { createClientSecrets, type ClientSecrets } from "./client-secrets.ts";
import { createExchange, type GrantExchange } from "./exchange.ts";
import { createMassRefusal, createTokenCounts } from "./mass-refusal.ts";
import { createCircuitBreaker } from "./circuit-breaker.ts";
import { createOpening } from "./opening.ts";
import { createRefresh, type Refresh } from "./refresh.ts";
import { createPrioritySemaphore } from "./priority-semaphore.ts";
import { createSecretSpread, type SpreadSecret } from "./secret-spread.ts";
import { createCredentialStore } from "./store.ts";
import { createTokenSources } from "./token-source.ts";

/** The life of all credentials: grants are exchanged, tokens refreshed and handed to callers of the platform. */
export interface Credentials {
  claims: Claims;
  secrets: ClientSecrets;
  grants: GrantExchange;
  refresh: Refresh;
  spreadSecret: SpreadSecret;
  /** Reopens the credentials that were quarantined for a missing key that is in the ring now. */
  reopenQuarantined(): Promise<void>;
  tokensOf(uuid: string): TokenSource;
}

export function createCredentials(needs: {
  db: Database;
  vault: Vault;
  scrubber: Scrubber;
  log: Log;
  pace: Pace;
  endpoint: TokenEndpoint;
  /** Calls to the token endpoint in flight at once. */
  concurrency: number;
  grantsFirst: GrantsFirst;
  /** Called after a first pair of tokens was stored. */
  onIssued(refreshInSeconds: number): void;
  /** Called after a grant was stored as lost. */
  onLost(uuid: string): Promise<void>;
  /** Called when work on a grant or on a refresh ended: another try may be due soon. */
  onGrantEnd(): void;
  onRefreshEnd(): void;
  /** Called with the number of rows taken over from holders that neither finished nor released them. */
  onSteal(rows: number): void;
  /** Called when refreshes are held back, because the token endpoint keeps failing. */
  onBreakerOpen(): void;
}): Credentials {
  const { db, vault, concurrency, onIssued, onLost, log } = needs;
  const claims = createClaims(db, needs.onSteal);
  const store = createCredentialStore(db);
  const spread = createSecretSpread(db);
  const secrets = createClientSecrets({ ...needs, spread });
  const opening = createOpening({ vault, store, log });
  const admission = createAdmission(secrets, store.release);
  const call = createTokenCall({ ...needs, admission, store, opening });
  const shared = {
    claims,
    store,
    admission,
    call,
    concurrency,
    log,
    pace: needs.pace,
    semaphore: createPrioritySemaphore(concurrency),
  };
  const refresh = createRefresh({
    ...shared,
    breaker: createCircuitBreaker(undefined, needs.onBreakerOpen),
    massRefusal: createMassRefusal(createTokenCounts(db)),
    onEnd: needs.onRefreshEnd,
  });
  return {
    claims,
    secrets,
    grants: createExchange({
      ...shared,
      grantsFirst: needs.grantsFirst,
      onIssued,
      onLost,
      onEnd: needs.onGrantEnd,
    }),
    refresh,
    async spreadSecret(signal) {
      const due = await spread(signal);
      // These tokens are dead, so they are refreshed now: the next sweep would come late.
      if (due > 0) needs.onRefreshEnd();
      return due;
    },
    reopenQuarantined: opening.reopen,
    tokensOf: createTokenSources({ db, opening, refresh }),
  };
}
