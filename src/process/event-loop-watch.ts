import { performance } from "node:perf_hooks";

const LOOK_EVERY_MS = 250;
/** The platform wants an answer within 3 s, so an operator should know of a second in which no other code could run. */
const BLOCKED_MS = 1_000;

/**
 * Calls `onBlocked`, with the delay in ms, after code has blocked the event loop for more than a second, as a vendor's
 * function may. A process that was frozen while it was idle, or whose machine slept, was not blocked. Returns a
 * function that ends the watch.
 */
export function watchEventLoop(onBlocked: (ms: number) => void): () => void {
  let lookedAt = performance.now();
  let used = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const lateMs = performance.now() - lookedAt - LOOK_EVERY_MS;
    const busyMs = performance.eventLoopUtilization(used).active;
    lookedAt = performance.now();
    used = performance.eventLoopUtilization();
    if (Math.min(lateMs, busyMs) > BLOCKED_MS) onBlocked(Math.round(lateMs));
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
