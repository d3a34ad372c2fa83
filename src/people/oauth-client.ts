import type { Log } from "../logging/log.ts";
import type { TokenAnswer } from "../platform/oauth.ts";
import { createRefusals } from "../platform/refusals.ts";
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
  /** Notes what the answer to a person's refresh says of the client, and decides what a plain 401 means. */
  judge(person: string, answer: TokenAnswer): TokenAnswer;
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
  const refusals = createRefusals(now);

  function rejected(): void {
    if (!isRejected) {
      log.error(
        { alarm: "oauth_client_rejected" },
        "The platform rejects the OAuth client of people: nobody can sign in",
      );
    }
    isRejected = true;
    probeAt = now() + PROBE_EVERY_MS;
  }

  function accepted(person = ""): void {
    if (isRejected) log.info("The platform accepts the OAuth client of people again");
    isRejected = false;
    refusals.succeeded(person);
  }

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
    rejected,
    accepted: () => accepted(),
    judge(person, answer) {
      const { outcome } = answer;
      if (outcome === "issued" || outcome === "token_rejected") accepted(person);
      const isOfPerson = outcome === "unauthorized" && !refusals.note(person) && !isRejected;
      if (isOfPerson) return { ...answer, outcome: "token_rejected" };
      if (outcome !== "unauthorized" && outcome !== "client_rejected") return answer;
      rejected();
      return { ...answer, outcome: "client_rejected" };
    },
  };
}
