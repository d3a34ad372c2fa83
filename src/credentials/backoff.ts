/**
 * Seconds to wait after the n-th try, the last value repeating; `spread` is the share that jitter may add or subtract.
 */
export interface Backoff {
  seconds: readonly number[];
  spread: number;
}

/**
 * The platform refuses the code, perhaps because it has not registered our answer yet. At most 15 tries fit into the
 * five minutes. Their number has no limit of its own, because after an outage a first refusal comes late and may pass
 * all the same.
 */
export const GRANT_NOT_YET: Backoff = { seconds: [1.25, 2.5, 5, 10, 20, 33], spread: 0.1 };
/** The token endpoint cannot be reached or fails, while a grant runs out. */
export const GRANT_UNREACHABLE: Backoff = { seconds: [1, 2, 4, 8, 10], spread: 0.25 };
/**
 * A refresh has hours, and the circuit breaker spares the token endpoint; so this only sets how soon tokens recover.
 */
export const REFRESH_UNREACHABLE: Backoff = { seconds: [5, 15, 30, 45], spread: 0.25 };
/** The platform calls our request malformed: only a new release can fix that. */
export const OUR_FAULT: Backoff = { seconds: [600], spread: 0.25 };
/** The vendor's own code, and calls to the platform made on its behalf. */
export const STEP_AGAIN: Backoff = { seconds: [1, 2, 5, 10, 30, 60, 120, 300], spread: 0.25 };

/** Seconds until the next try, when `tries` have been made. `chance` is in [0, 1). */
export function nextTryInSeconds(
  { seconds, spread }: Backoff,
  tries: number,
  chance: () => number = Math.random,
): number {
  const base = seconds[Math.min(Math.max(tries, 1), seconds.length) - 1]!;
  return base * (1 + spread * (2 * chance() - 1));
}
