import type { Database } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { TokenEndpoint } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { createOAuthClient, type OAuthClient } from "./oauth-client.ts";
import { createOpening } from "./tokens/opening.ts";
import { createRefresh } from "./tokens/refresh.ts";
import { createTokenStore } from "./tokens/store.ts";
import { createTokenSources, type PersonTokens } from "./tokens/token-source.ts";

/** The tokens of the people who are signed in, in whichever process; the web process lets them sign in (sign-in.ts). */
export interface PeopleTokens {
  /** Our OAuth client, which they gave the tokens to, and the endpoint that issues them. */
  client: OAuthClient;
  endpoint: TokenEndpoint;
  /** A person's access token, for calls to the platform in their name. */
  tokensOf(person: string): PersonTokens;
  /** Background work, for the timetable. */
  refreshDue(signal: AbortSignal): Promise<number>;
  nextRefreshInSeconds(): Promise<number | null>;
  /** Resolves when no refresh is under way and none is still holding tokens that it could not store. */
  refreshesSettled(): Promise<void>;
  reopenQuarantined(): Promise<void>;
}

export function createPeopleTokens(needs: {
  client: { id: string; secret: Secret };
  endpoint: TokenEndpoint;
  db: Database;
  vault: Vault;
  /** Called when a scheduled refresh ended: a retry may be due soon. */
  onRefreshEnd(): void;
  log: Log;
}): PeopleTokens {
  const { endpoint, db, log } = needs;
  const client = createOAuthClient(needs.client, log);
  const store = createTokenStore(db);
  const opening = createOpening({ ...needs, store });
  const refresh = createRefresh({ ...needs, store, opening, client });
  return {
    ...{ client, endpoint },
    tokensOf: createTokenSources({ store, opening, refresh }),
    refreshDue: refresh.due,
    nextRefreshInSeconds: store.nextDueInSeconds,
    refreshesSettled: refresh.settled,
    reopenQuarantined: opening.reopen,
  };
}
