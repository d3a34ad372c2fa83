const FAILURES_TO_OPEN = 5;
const PROBE_EVERY_MS = 15_000;

/**
 * A circuit breaker for refreshes while the token endpoint fails or asks for rest (`Retry-After`). Refreshes have hours
 * to spare, so they stop, except for one probe every 15 seconds; grants have minutes and are never held back by it. Per
 * process. `onOpen` is called when it opens, and at each probe that fails: a count of its calls shows an outage for as
 * long as it lasts. `now` is a monotonic clock in milliseconds.
 */
export function createBreaker(onOpen: () => void, now: () => number = () => performance.now()) {
  let failures = 0;
  let openUntil = 0;
  let rest = { until: 0, asked: -Infinity };
  let isProbing = false;
  return {
    /** How many refreshes may be started now. */
    allowance(): number {
      if (now() < Math.max(openUntil, rest.until)) return 0;
      if (failures < FAILURES_TO_OPEN) return Infinity;
      openUntil = now() + PROBE_EVERY_MS;
      isProbing = true;
      return 1;
    },
    /** `sentMs`: when that call began. A call begun before the platform asked for rest does not end the rest. */
    succeeded(sentMs: number): void {
      failures = openUntil = 0;
      isProbing = false;
      if (sentMs > rest.asked) rest.until = 0;
    },
    failed(retryAfterMs = 0): void {
      failures += 1;
      if (failures === FAILURES_TO_OPEN) openUntil = now() + PROBE_EVERY_MS;
      if (failures === FAILURES_TO_OPEN || isProbing) onOpen();
      isProbing = false;
      if (retryAfterMs > 0) rest = { until: Math.max(rest.until, now() + retryAfterMs), asked: now() };
    },
  };
}

export type Breaker = ReturnType<typeof createBreaker>;
