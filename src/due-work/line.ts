/** Tells whether more rows are due than can be started, judging by one claim after the other. */
export interface Line {
  /** Reports a claim; `isFull`: it returned as many rows as were asked for. */
  saw(isFull: boolean): void;
  /** For how many ms more rows have been due than could be started; 0: not now. */
  forMs(): number;
}

/**
 * The line ends this many ms after it was last full: where rows fall due about as fast as they are done, some claims
 * are full and some are not.
 */
const ENDS_AFTER_MS = 1_000;

export function createLine(clock = () => performance.now()): Line {
  let began = 0;
  let lastFull = -Infinity;
  let isFull = false;
  const stands = (now: number) => isFull || now - lastFull < ENDS_AFTER_MS;

  return {
    saw(itWasFull) {
      const now = clock();
      if (itWasFull && !stands(now)) began = now;
      // A claim may come long after the one before; until now the line was as that one found it.
      if (isFull || itWasFull) lastFull = now;
      isFull = itWasFull;
    },
    forMs() {
      const now = clock();
      return stands(now) ? now - began : 0;
    },
  };
}
