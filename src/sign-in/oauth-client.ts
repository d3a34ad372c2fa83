import type { Log } from "../logging/log.ts";
import type { Secret } from "../secret.ts";

/** The OAuth client that people sign in with, and whether the platform accepts its secret. */
export interface OAuthClient {
  id: string;
  secret: Secret;
  /** How many refreshes may be sent now: while the secret is rejected, one a minute probes whether it still is. */
  allowance(): number;
  /** A refresh is about to be sent. */
  asking(): void;
  rejected(): void;
  accepted(): void;
}

const PROBE_EVERY_MS = 60_000;

/**
 * Holds `OAUTH_CLIENT_ID` and its secret. A rejected secret is a fault of our configuration and not of any token: it
 * raises one alarm.
 */
export function createOAuthClient(
  { id, secret }: { id: string; secret: Secret },
  log: Log,
  now: () => number = () => performance.now(),
): OAuthClient {
  let isRejected = false;
  let probeAt = 0;
  return {
    id,
    secret,
    allowance() {
      if (!isRejected) return Infinity;
      return now() < probeAt ? 0 : 1;
    },
    asking() {
      if (isRejected) probeAt = now() + PROBE_EVERY_MS;
    },
    rejected() {
      if (!isRejected) {
        log.error(
          { alarm: "oauth_client_rejected" },
          "The platform rejects the OAuth client of people: nobody can sign in",
        );
      }
      isRejected = true;
      probeAt = now() + PROBE_EVERY_MS;
    },
    accepted() {
      if (isRejected) log.info("The platform accepts the OAuth client of people again");
      isRejected = false;
    },
  };
}
