import { performance } from "node:perf_hooks";

const LOOK_EVERY_MS = 250;
/** The platform waits 3 s for an answer: a second in which nothing else ran is what somebody should know of. */
const BLOCKED_MS = 1_000;

/**
 * Calls `onBlocked` after code has kept this process from everything else for more than a second, as a vendor's function
 * may. A process that was frozen while it had nothing to do, or whose machine slept, was not blocked. Answers how to stop.
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
