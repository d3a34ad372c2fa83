/** Tells whether more rows are due than can be started, judging by one claim after the other. */
export interface Backlog {
  /** Reports a claim; `isFull`: it returned as many rows as were asked for. */
  observe(isFull: boolean): void;
  /** Whether more rows are due than can be started. */
  isThere(): boolean;
}

/**
 * The backlog is over this many ms after a claim was last full: where rows fall due about as fast as they are done, some claims
 * are full and some are not.
 */
const ENDS_AFTER_MS = 1_000;

export function createBacklog(clock = () => performance.now()): Backlog {
  let lastFull = -Infinity;
  let isFull = false;

  return {
    observe(itWasFull) {
      // A claim may come long after the one before; until now the backlog was as that one found it.
      if (isFull || itWasFull) lastFull = clock();
      isFull = itWasFull;
    },
    isThere: () => isFull || clock() - lastFull < ENDS_AFTER_MS,
  };
}
