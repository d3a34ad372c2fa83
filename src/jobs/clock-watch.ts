const LOOK_EVERY_MS = 1_000;
/** A smaller difference (ms) comes from a clock that is slewed, not set. */
const SET_BY_MS = 2_000;

/** A timer this late (ms) means that the process stood still: it was frozen, or something blocked it. */
const STOOD_STILL_MS = 5_000;

/**
 * Calls `onSet` when the machine's clock was set, forward or back, or the machine slept: then the clock and the time
 * that passed in this process differ. Calls `onStill` when the process stood still. Returns a function that ends the
 * watch.
 */
export function watchClock({
  onSet,
  onStill,
}: {
  onSet(byMs: number): void;
  onStill(forMs: number): void;
}): () => void {
  const difference = () => Date.now() - performance.now();
  let known = difference();
  let lookedAt = performance.now();
  const timer = setInterval(() => {
    const lateMs = performance.now() - lookedAt - LOOK_EVERY_MS;
    lookedAt = performance.now();
    if (lateMs > STOOD_STILL_MS) onStill(lateMs);
    const byMs = difference() - known;
    if (Math.abs(byMs) < SET_BY_MS) return;
    known += byMs;
    onSet(byMs);
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
