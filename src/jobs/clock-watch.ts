const LOOK_EVERY_MS = 1_000;
/** A smaller difference (ms) comes from a clock that is slewed, not set. */
const SET_BY_MS = 2_000;

/**
 * Calls `onSet` when the machine's clock was set, forward or back, or the machine slept: then the clock and the time
 * that passed in this process differ. Returns a function that ends the watch.
 */
export function watchClock(onSet: (byMs: number) => void): () => void {
  const difference = () => Date.now() - performance.now();
  let known = difference();
  const timer = setInterval(() => {
    const byMs = difference() - known;
    if (Math.abs(byMs) < SET_BY_MS) return;
    known += byMs;
    onSet(byMs);
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
