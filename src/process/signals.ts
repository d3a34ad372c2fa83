import { performance } from "node:perf_hooks";

/**
 * Calls `first` for the first of these signals that `process` gets, and `again` for each later one that was sent on
 * purpose: more than `againAfterMs` after the first. (A terminal sends one to npm and to npm's child, and npm passes it
 * on.) A further SIGHUP is ignored: a terminal that hangs up may send it twice.
 */
export function onSignals(
  process: NodeJS.EventEmitter,
  signals: readonly NodeJS.Signals[],
  { first, again }: { first(signal: NodeJS.Signals): void; again(signal: NodeJS.Signals): void },
  againAfterMs = 1_000,
): void {
  let firstAt: number | null = null;
  const heard = (signal: NodeJS.Signals) => {
    if (firstAt === null) {
      firstAt = performance.now();
      first(signal);
    } else if (signal !== "SIGHUP" && performance.now() - firstAt > againAfterMs) again(signal);
  };
  for (const signal of signals) process.on(signal, heard);
}
