const LOOK_EVERY_MS = 1_000;
/** Less than this is a clock being steered, not one that was set. */
const SET_BY_MS = 2_000;

/**
 * Calls `onSet` when the machine's clock was set, forward or back, or the machine slept: the clock and the time that
 * passed in this process then differ. Answers how to stop looking.
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
