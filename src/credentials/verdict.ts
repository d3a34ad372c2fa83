import type { Pace } from "../pace.ts";
import type { NotIssued } from "../platform/oauth.ts";
import type { Owner } from "./states.ts";

/** Seconds to wait after the n-th try, the last value repeating; `spread` is the share that jitter adds or subtracts. */
export interface Backoff {
  seconds: readonly number[];
  spread: number;
}

/** The platform may not have registered our answer yet. At most 15 tries fit into the five minutes. */
const GRANT_NOT_YET: Backoff = { seconds: [1.25, 2.5, 5, 10, 20, 33], spread: 0.1 };
/** The token endpoint cannot be reached or fails, while a grant runs out. */
const GRANT_UNREACHABLE: Backoff = { seconds: [1, 2, 4, 8, 10], spread: 0.25 };
/** A refresh has hours, and the circuit breaker spares the endpoint: this sets how soon tokens recover. */
const REFRESH_UNREACHABLE: Backoff = { seconds: [5, 15, 30, 45], spread: 0.25 };
/** The platform refuses the refresh token, in a wave perhaps: after it, all are fresh within an hour. */
const REFRESH_REFUSED: Backoff = { seconds: [60, 300, 900, 1800, 3600], spread: 0.1 };
/** The platform calls our request malformed: only a new release can fix that. */
export const OUR_FAULT: Backoff = { seconds: [600], spread: 0.25 };
/** The vendor's own code, and calls to the platform made on its behalf. */
export const STEP_AGAIN: Backoff = { seconds: [1, 2, 5, 10, 30, 60, 120, 300], spread: 0.25 };

/** A longer `Retry-After` is cut to this: a grant has five minutes, and a customer depends on it. */
const LONGEST_GRANT_REST_SECONDS = 60;
/** How long a grant is tried after its arrival: the five minutes that it lives, and 5 s for clocks that differ. */
export const GRANT_SECONDS = 305;
const LEAST_REFUSALS = 3;
const REFUSED_FOR_SECONDS = 24 * 3600;
export const ASK_AGAIN_DAILY_SECONDS = 24 * 3600;

/** Seconds until the next try, when `tries` have been made. `chance` is in [0, 1). */
export function nextTryInSeconds(
  { seconds, spread }: Backoff,
  tries: number,
  chance: () => number = Math.random,
): number {
  const base = seconds[Math.min(Math.max(tries, 1), seconds.length) - 1]!;
  return base * (1 + spread * (2 * chance() - 1));
}

/** What a claimed row says about its tries. */
export interface Tries {
  owner: Owner;
  state: string;
  attempts: number;
  outcomeUnknown: boolean;
  /** Seconds since the platform first refused this code or refresh token, by the database's clock; null: it never did. */
  rejectedForSeconds: number | null;
}

export interface GrantVerdict {
  againInSeconds: number;
  outcomeUnknown: boolean;
}

/**
 * What a failed exchange means. Nothing is final before the deadline: a refused code may only be early (the platform
 * registers our answer late), and a call whose outcome is unknown may still succeed if the platform replays its answer.
 */
export function judgeFailedExchange(
  tries: Tries,
  { outcome, retryAfterMs }: NotIssued,
  { pauses }: Pace,
): GrantVerdict {
  const backoff = outcome === "token_rejected" ? GRANT_NOT_YET : GRANT_UNREACHABLE;
  const restSeconds = Math.min((retryAfterMs ?? 0) / 1000, LONGEST_GRANT_REST_SECONDS);
  return {
    againInSeconds: Math.max(nextTryInSeconds(backoff, tries.attempts + 1) * pauses, restSeconds),
    outcomeUnknown: tries.outcomeUnknown || outcome === "unknown",
  };
}

/** Why a grant whose deadline has passed is lost. */
export function reasonForLoss({ outcomeUnknown, rejectedForSeconds }: Tries) {
  if (outcomeUnknown) return "outcome_unknown";
  return rejectedForSeconds === null ? "expired" : "never_accepted";
}

/** `givesUp`: a resource needs to be authorized again, a person must sign in again. */
export interface RefreshVerdict {
  againInSeconds: number;
  isRefused: boolean;
  givesUp: boolean;
}

/** What a failed refresh means. */
export function judgeFailedRefresh(
  { owner, state, attempts, rejectedForSeconds }: Tries,
  { outcome, retryAfterMs }: NotIssued,
  { pauses }: Pace,
): RefreshVerdict {
  const tries = attempts + 1;
  const isRefused = outcome === "token_rejected";
  // No wave of refusals gives up a resource: it takes three over a day. A person just signs in again.
  const isOver =
    owner === "person" || (tries >= LEAST_REFUSALS && (rejectedForSeconds ?? 0) >= REFUSED_FOR_SECONDS);
  const givesUp = isRefused && isOver;
  if (givesUp || state === "needs_reauth")
    return { againInSeconds: ASK_AGAIN_DAILY_SECONDS, isRefused, givesUp: true };
  const backoff = isRefused ? REFRESH_REFUSED : outcome === "bug" ? OUR_FAULT : REFRESH_UNREACHABLE;
  const againInSeconds = Math.max(nextTryInSeconds(backoff, tries) * pauses, (retryAfterMs ?? 0) / 1000);
  return { againInSeconds, isRefused, givesUp };
}

/**
 * When a token falls due, as a share of its life: 45 to 55 %, fixed by the uuid. Tokens issued together fall due at
 * different times, so they cause no thundering herd; and half a life is left to outlast the platform's trouble.
 */
export function shareOfLife(uuid: string): number {
  // FNV-1a over the text: the uuid need not be random.
  let hash = 0x811c9dc5;
  for (let i = 0; i < uuid.length; i++) hash = Math.imul(hash ^ uuid.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return 0.45 + 0.1 * ((Math.imul(hash, 0x2c1b3c6d) >>> 0) / 2 ** 32);
}
