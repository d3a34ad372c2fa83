import type { EventEmitter } from "node:events";

/**
 * A signal sooner than this after the first is the same one: a terminal sends it to npm and to npm's child, and npm
 * passes it on.
 */
const SAME_SIGNAL_MS = 1_000;

/**
 * Calls `first` for the first of these signals, and `again` for each later one that was sent on purpose: more than
 * `againAfterMs` after the first. A further SIGHUP is ignored: a terminal that hangs up may send it twice. `source`
 * emits them: `process`.
 */
export function onSignals(
  source: EventEmitter,
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
  for (const signal of signals) source.on(signal, heard);
}
