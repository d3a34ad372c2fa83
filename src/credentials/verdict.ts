import { type Backoff, nextTryInSeconds } from "../pace.ts";
import type { Failure } from "../platform/oauth.ts";
import type { Tries, Verdict } from "./states.ts";

/** The platform may not have registered the answer to the provision yet. At most 15 attempts fit into five minutes. */
const GRANT_NOT_YET: Backoff = { seconds: [1.25, 2.5, 5, 10, 20, 33], spread: 0.1 };
/** The token endpoint is unreachable or fails, and the grant has only minutes. */
const GRANT_UNREACHABLE: Backoff = { seconds: [1, 2, 4, 8, 10], spread: 0.25 };
/** A refresh has hours. The circuit breaker protects the endpoint, so short pauses serve a fast recovery. */
const REFRESH_UNREACHABLE: Backoff = { seconds: [5, 15, 30, 45], spread: 0.25 };
/** The platform refuses the refresh token, perhaps by its own fault: all tokens are refreshed within an hour after that. */
const REFRESH_REFUSED: Backoff = { seconds: [60, 300, 900, 1800, 3600], spread: 0.1 };
/** The platform refuses the request for another reason than its token, which lasts until an operator acts. */
const REFRESH_MISUNDERSTOOD: Backoff = { seconds: [600], spread: 0.25 };

/**
 * At this age the platform has registered the answer to the provision, so it does not refuse the grant as too early. After
 * a call of unknown outcome, two refusals, the second at this age or later, mean that the code was used.
 */
const NOT_EARLY_SECONDS = 30;
/** The longest `Retry-After` that an exchange respects, because a grant has only five minutes. */
const LONGEST_GRANT_REST_SECONDS = 60;
const LEAST_REFUSALS = 3;
const DAY_SECONDS = 24 * 3600;

/** How a call to the token endpoint for one row ended. */
export type CallResult =
  /** The tokens are stored. Their next refresh is due in `refreshInSeconds`. */
  | { done: "stored"; refreshInSeconds: number }
  /**
   * `not_ours`: tokens were issued but not stored, because the lease was lost. `held`: this process holds the row's newest
   * tokens in memory until the database can store them. `not_sent`: no call was sent, the row is released unchanged.
   * `busy`: the row could not be claimed.
   */
  | { done: "not_ours" | "quarantined" | "held" | "not_sent" | "secret_rejected" | "busy" }
  | { done: "failed"; failure: Failure };

const REFUSED = "refresh_token_rejected";

/**
 * Decides what follows from a failed call. A resource's pair is given up only after three refusals over a day, so that a
 * fault of the platform does not end it. A person's pair is given up at once, because the person can sign in again.
 */
export function judgeFailure(row: Tries, failure: Failure, pauses: number): Verdict {
  const { outcome, error, retryAfterMs = 0 } = failure;
  const isRefused = outcome === "token_rejected";
  const attempts = attemptsAfter(row, outcome);
  const isUnknown = outcome === "unknown";
  const verdict = { attempts, isRefused, isUnknown, error: `${error.id}: ${error.message}` };
  if (row.state === "grant_pending") return judgeGrant(row, verdict, retryAfterMs, pauses);
  if (isRefused && row.owner === "person")
    return { ...verdict, on: "refused", reason: REFUSED, againInSeconds: null };
  if (row.state === "needs_reauth")
    return { ...verdict, on: null, reason: null, againInSeconds: DAY_SECONDS };
  const isOver = attempts >= LEAST_REFUSALS && (row.rejectedForSeconds ?? 0) >= DAY_SECONDS;
  if (isRefused && isOver)
    return { ...verdict, on: "refused three times in a day", reason: REFUSED, againInSeconds: DAY_SECONDS };
  const wasRefused = isRefused || outcome === "unauthorized";
  const backoff = wasRefused
    ? REFRESH_REFUSED
    : outcome === "bug"
      ? REFRESH_MISUNDERSTOOD
      : REFRESH_UNREACHABLE;
  // A failure that does not raise the number of attempts gets the longest pause.
  const tries = attempts > row.attempts || isRefused ? attempts : backoff.seconds.length;
  const pause = nextTryInSeconds(backoff, tries) * pauses;
  return { ...verdict, on: null, reason: null, againInSeconds: Math.max(pause, retryAfterMs / 1000) };
}

/**
 * Before its deadline a grant ends only if its code was used. A refused code may be too early, and after an unknown outcome
 * the platform may send its answer again.
 */
function judgeGrant(
  row: Tries,
  failed: Pick<Verdict, "isRefused"> & { attempts: number },
  retryAfterMs: number,
  pauses: number,
): Verdict {
  const { attempts, isRefused = false } = failed;
  const untilNotEarly = NOT_EARLY_SECONDS * pauses - row.grantAgeSeconds!;
  const mayBeSpent = isRefused && row.outcomeUnknown;
  if (mayBeSpent && row.rejectedForSeconds !== null && untilNotEarly <= 0)
    return { ...failed, ...judgeLostGrant(row, "spent") };
  const pause = nextTryInSeconds(isRefused ? GRANT_NOT_YET : GRANT_UNREACHABLE, attempts) * pauses;
  const rest = Math.min(retryAfterMs / 1000, LONGEST_GRANT_REST_SECONDS);
  const againInSeconds = Math.max(pause, rest, mayBeSpent ? untilNotEarly : 0);
  return { ...failed, on: null, reason: null, againInSeconds };
}

/** The number of attempts after this call. Once a pair was refused, only refusals are counted. */
function attemptsAfter({ state, attempts, rejectedForSeconds }: Tries, outcome: Failure["outcome"]): number {
  if (state === "grant_pending") return attempts + 1;
  if (rejectedForSeconds === null) return outcome === "token_rejected" ? 1 : attempts + 1;
  return outcome === "token_rejected" ? attempts + 1 : attempts;
}

/** Why a grant is lost. */
export const whyLost = ({ outcomeUnknown, rejectedForSeconds }: Tries) =>
  outcomeUnknown ? "outcome_unknown" : rejectedForSeconds === null ? "expired" : "never_accepted";

/** The verdict on a lost grant. `spent`: the code was used before the deadline. The row may return to an older pair. */
export function judgeLostGrant(row: Tries, on: "deadline" | "spent" = "deadline"): Verdict {
  if (!row.sealedRefreshToken) return { on, reason: whyLost(row), againInSeconds: null };
  return { on: `${on}, with an older pair`, reason: REFUSED, isRefused: true, againInSeconds: DAY_SECONDS };
}

/**
 * When a token falls due, as a share of its life: 45 to 55 %, at random. Tokens that were issued together do not fall due
 * together, and half of the life remains for retries.
 */
export const shareOfLife = (): number => 0.45 + 0.1 * Math.random();
