/** Tells whether more rows are due than can be started, judging by one claim after the other. */
export interface Backlog {
  /** Reports a claim; `isFull`: it returned as many rows as were asked for. */
  observe(isFull: boolean): void;
  /** For how many ms more rows have been due than could be started; 0: not now. */
  ageMs(): number;
}

/**
 * The backlog is over this many ms after a claim was last full: where rows fall due about as fast as they are done, some claims
 * are full and some are not.
 */
const ENDS_AFTER_MS = 1_000;

export function createBacklog(clock = () => performance.now()): Backlog {
  let began = 0;
  let lastFull = -Infinity;
  let isFull = false;
  const isThere = (now: number) => isFull || now - lastFull < ENDS_AFTER_MS;

  return {
    observe(itWasFull) {
      const now = clock();
      if (itWasFull && !isThere(now)) began = now;
      // A claim may come long after the one before; until now the backlog was as that one found it.
      if (isFull || itWasFull) lastFull = now;
      isFull = itWasFull;
    },
    ageMs() {
      const now = clock();
      return isThere(now) ? now - began : 0;
    },
  };
}
