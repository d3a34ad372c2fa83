import { hash } from "node:crypto";
import { nextTryInSeconds, type Backoff } from "../pace.ts";
import type { Failure } from "../platform/oauth.ts";
import type { Tries, Verdict } from "./states.ts";

/** The platform may not have registered our answer yet. At most 15 tries fit into the five minutes. */
const GRANT_NOT_YET: Backoff = { seconds: [1.25, 2.5, 5, 10, 20, 33], spread: 0.1 };
/** The token endpoint cannot be reached or fails, while a grant runs out. */
const GRANT_UNREACHABLE: Backoff = { seconds: [1, 2, 4, 8, 10], spread: 0.25 };
/** A refresh has hours, and the circuit breaker spares the endpoint: this sets how soon tokens recover. */
const REFRESH_UNREACHABLE: Backoff = { seconds: [5, 15, 30, 45], spread: 0.25 };
/** The platform refuses the refresh token, in a wave perhaps: after it, all are fresh within an hour. */
const REFRESH_REFUSED: Backoff = { seconds: [60, 300, 900, 1800, 3600], spread: 0.1 };
/** The platform calls our request malformed: only a new release can fix that. */
const OUR_FAULT: Backoff = { seconds: [600], spread: 0.25 };

/**
 * A grant that came this long ago is not refused for being early: the platform has registered our answer by now. After a
 * call of unknown outcome, two refusals, the second at this age or later, mean that the code is spent.
 */
const NOT_EARLY_SECONDS = 30;
/** A longer `Retry-After` is cut to this: a grant has five minutes, and a customer depends on it. */
const LONGEST_GRANT_REST_SECONDS = 60;
const LEAST_REFUSALS = 3;
const DAY_SECONDS = 24 * 3600;

/** How a call to the token endpoint for one row ended. */
export type CallResult =
  /** The tokens are stored; their next refresh is due in this many seconds. */
  | { done: "stored"; refreshInSeconds: number }
  /**
   * `not_ours`: tokens were issued but not stored, as the lease was lost. `held`: the row's newest tokens are in this
   * process's memory, until the database takes them. `not_sent`: the row is released as it was. `busy`: it was not
   * claimed.
   */
  | { done: "not_ours" | "quarantined" | "held" | "not_sent" | "secret_rejected" | "busy" }
  | { done: "failed"; failure: Failure };

const REFUSED = "refresh_token_rejected";

/** One wave of refusals ends no credential: it takes three refusals over a day. A person signs in again. */
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
  const backoff = wasRefused ? REFRESH_REFUSED : outcome === "bug" ? OUR_FAULT : REFRESH_UNREACHABLE;
  // A failure that is not counted does not come more often for that.
  const tries = attempts > row.attempts || isRefused ? attempts : backoff.seconds.length;
  const pause = nextTryInSeconds(backoff, tries) * pauses;
  return { ...verdict, on: null, reason: null, againInSeconds: Math.max(pause, retryAfterMs / 1000) };
}

/**
 * But for a spent code nothing is final before the deadline: a refused code may only be early, and a call whose outcome is
 * unknown may still succeed if the platform replays its answer.
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

/** Of a pair that the platform has refused, only refusals are counted. */
function attemptsAfter({ state, attempts, rejectedForSeconds }: Tries, outcome: Failure["outcome"]): number {
  if (state === "grant_pending") return attempts + 1;
  if (rejectedForSeconds === null) return outcome === "token_rejected" ? 1 : attempts + 1;
  return outcome === "token_rejected" ? attempts + 1 : attempts;
}

/** Why a grant is lost. */
export const whyLost = ({ outcomeUnknown, rejectedForSeconds }: Tries) =>
  outcomeUnknown ? "outcome_unknown" : rejectedForSeconds === null ? "expired" : "never_accepted";

/** What becomes of a row whose grant is lost, at its deadline or because its code is spent. It may hold an older pair. */
export function judgeLostGrant(row: Tries, on: "deadline" | "spent" = "deadline"): Verdict {
  if (!row.sealedRefreshToken) return { on, reason: whyLost(row), againInSeconds: null };
  return { on: `${on}, with an older pair`, reason: REFUSED, isRefused: true, againInSeconds: DAY_SECONDS };
}

/**
 * When a token falls due, as a share of its life: 45 to 55 %, fixed by the uuid. So tokens that were issued together do
 * not fall due together, and half a life is left to outlast the platform's trouble.
 */
export function shareOfLife(uuid: string): number {
  // The uuid need not be random.
  return 0.45 + 0.1 * (hash("sha1", uuid, "buffer").readUInt32BE() / 2 ** 32);
}
