/** Warnings of Node that came before anybody took them. */
const early: Error[] = [];
let take: (warning: Error) => void = (warning) => void early.push(warning);
let isTaken = false;

/**
 * Takes two habits from Node, before a program loads anything else: on SIGUSR1 it would open its inspector, through
 * which anybody on this machine reads every secret, and it would print its warnings as bare text.
 */
export function takeOverNode(): void {
  if (isTaken) return;
  isTaken = true;
  process.on("SIGUSR1", () => undefined);
  process.removeAllListeners("warning");
  process.on("warning", (warning) => take(warning));
}

/** Calls `taker` with each warning of Node, those before this call too; of several takers the last one has them. */
export function takeWarnings(taker: (warning: Error) => void): void {
  take = taker;
  early.splice(0).forEach(taker);
}
