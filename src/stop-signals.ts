/** Sooner than this after the first, a signal is the same one: what a terminal sends to all, npm sends on to its child. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Tells `first` of the first of these signals, and `again` of each that somebody sends after it on purpose: one that
 * comes `againAfterMs` after the first, or later. A terminal that hangs up means nothing by telling so twice.
 */
export function onSignals(
  signals: readonly NodeJS.Signals[],
  tell: { first(signal: NodeJS.Signals): void; again(signal: NodeJS.Signals): void },
  againAfterMs = SAME_SIGNAL_MS,
): void {
  let firstAt: number | null = null;
  const heard = (signal: NodeJS.Signals) => {
    if (firstAt === null) {
      firstAt = performance.now();
      tell.first(signal);
    } else if (signal !== "SIGHUP" && performance.now() - firstAt > againAfterMs) tell.again(signal);
  };
  for (const signal of signals) process.on(signal, heard);
}
