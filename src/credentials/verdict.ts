import type { Pace } from "../pace.ts";
import type { TokenAnswer } from "../platform/oauth.ts";
import {
  GRANT_NOT_YET,
  GRANT_UNREACHABLE,
  nextTryInSeconds,
  OUR_FAULT,
  REFRESH_UNREACHABLE,
} from "./backoff.ts";

/** What a claimed row says about its grant. */
export interface GrantFacts {
  attempts: number;
  outcomeUnknown: boolean;
  /** Whether the platform ever answered a definite `invalid_grant` for this grant. */
  wasRefused: boolean;
}

export interface RefreshFacts {
  state: "grant_pending" | "active" | "needs_reauth" | "quarantined";
  attempts: number;
  /** Seconds since the platform first refused this refresh token, by the database's clock; null: it never did. */
  rejectedForSeconds: number | null;
}

type Failure = Exclude<TokenAnswer, { outcome: "issued" }>;

export interface GrantVerdict {
  againInSeconds: number;
  outcomeUnknown: boolean;
}

/** A longer `Retry-After` is cut to this: a grant has five minutes, and a customer depends on it. */
const LONGEST_GRANT_REST_SECONDS = 60;
/** After two refusals this far apart, the second for a row read anew, the refresh token counts as revoked. */
const SECOND_REFUSAL_SECONDS = 60;
export const ASK_AGAIN_DAILY_SECONDS = 24 * 3600;

/**
 * What a failed exchange means. Nothing is final before the deadline: a refused code may only be early (the platform
 * registers our answer late), and a call whose outcome is unknown may still succeed if the platform replays its answer.
 */
export function judgeFailedExchange(
  facts: GrantFacts,
  { outcome, retryAfterMs }: Failure,
  { pauses }: Pace,
): GrantVerdict {
  const backoff = outcome === "token_rejected" ? GRANT_NOT_YET : GRANT_UNREACHABLE;
  const restSeconds = Math.min((retryAfterMs ?? 0) / 1000, LONGEST_GRANT_REST_SECONDS);
  return {
    againInSeconds: Math.max(nextTryInSeconds(backoff, facts.attempts + 1) * pauses, restSeconds),
    outcomeUnknown: facts.outcomeUnknown || outcome === "unknown",
  };
}

/** Why a grant whose deadline has passed is lost. */
export function reasonForLoss({
  outcomeUnknown,
  wasRefused,
}: GrantFacts): "outcome_unknown" | "never_accepted" | "expired" {
  if (outcomeUnknown) return "outcome_unknown";
  return wasRefused ? "never_accepted" : "expired";
}

export interface RefreshVerdict {
  state: "active" | "needs_reauth";
  againInSeconds: number;
  /** Whether this was a refusal of the refresh token. */
  rejected: boolean;
}

/**
 * What a failed refresh means. A first refusal is not final: another process may just have changed the row, or the
 * platform may be in trouble. After the second, the token is tried once a day, in case the platform changes its mind.
 */
export function judgeFailedRefresh(
  facts: RefreshFacts,
  { outcome, retryAfterMs }: Failure,
  { pauses }: Pace,
): RefreshVerdict {
  if (outcome === "token_rejected") {
    const waited = facts.rejectedForSeconds;
    if (waited !== null && waited >= SECOND_REFUSAL_SECONDS) {
      return { state: "needs_reauth", againInSeconds: ASK_AGAIN_DAILY_SECONDS, rejected: true };
    }
    return {
      state: "active",
      againInSeconds: Math.max(SECOND_REFUSAL_SECONDS - (waited ?? 0) + 1, 1),
      rejected: true,
    };
  }
  if (facts.state === "needs_reauth") {
    return { state: "needs_reauth", againInSeconds: ASK_AGAIN_DAILY_SECONDS, rejected: false };
  }
  const backoff = outcome === "bug" ? OUR_FAULT : REFRESH_UNREACHABLE;
  const againInSeconds = Math.max(
    nextTryInSeconds(backoff, facts.attempts + 1) * pauses,
    (retryAfterMs ?? 0) / 1000,
  );
  return { state: "active", againInSeconds, rejected: false };
}

/**
 * When a token falls due, as a share of its life: 45 to 55 %, fixed for a resource by its uuid. Tokens issued together
 * fall due at different times, so they cause no thundering herd; and half a life is left to outlast the platform's
 * trouble.
 */
export function shareOfLife(uuid: string): number {
  // FNV-1a over the text: the uuid need not be random.
  let hash = 0x811c9dc5;
  for (let i = 0; i < uuid.length; i++) hash = Math.imul(hash ^ uuid.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return 0.45 + 0.1 * ((Math.imul(hash, 0x2c1b3c6d) >>> 0) / 2 ** 32);
}
