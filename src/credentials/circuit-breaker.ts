/**
 * A circuit breaker for refreshes while the token endpoint fails or asks for rest (`Retry-After`). Refreshes have hours
 * to spare, so they stop, except for one probe every 15 seconds; grants have minutes and are never held back by it. Per
 * process.
 */
export interface CircuitBreaker {
  /** How many refreshes may be started now. */
  allowance(): number;
  /** `sentMs`: when that call began. A call begun before the platform asked for rest does not end the rest. */
  succeeded(sentMs: number): void;
  failed(retryAfterMs?: number): void;
}

const FAILURES_TO_OPEN = 5;
const PROBE_EVERY_MS = 15_000;

/**
 * `now` is a monotonic clock in milliseconds. `onOpen` is called when the breaker opens, and at each probe that
 * fails: a count of its calls shows an outage for as long as it lasts, not only its beginning.
 */
export function createCircuitBreaker(
  now: () => number = () => performance.now(),
  onOpen: () => void = () => {},
): CircuitBreaker {
  let failures = 0;
  let openUntil = 0;
  let restUntil = 0;
  let restAskedMs = -Infinity;
  let isProbing = false;
  return {
    allowance() {
      if (now() < Math.max(openUntil, restUntil)) return 0;
      if (failures < FAILURES_TO_OPEN) return Infinity;
      openUntil = now() + PROBE_EVERY_MS;
      isProbing = true;
      return 1;
    },
    succeeded(sentMs) {
      failures = 0;
      openUntil = 0;
      if (sentMs > restAskedMs) restUntil = 0;
      isProbing = false;
    },
    failed(retryAfterMs = 0) {
      failures += 1;
      if (failures === FAILURES_TO_OPEN) openUntil = now() + PROBE_EVERY_MS;
      if (failures === FAILURES_TO_OPEN || isProbing) onOpen();
      isProbing = false;
      if (retryAfterMs === 0) return;
      restAskedMs = now();
      restUntil = Math.max(restUntil, restAskedMs + retryAfterMs);
    },
  };
}
