/** Whether more rows are due than can be started, seen by one look after the other. */
export interface Line {
  /** A look took as many rows as it could, or fewer. */
  saw(isFull: boolean): void;
  /** For how long a line has stood, in ms; 0: none does. */
  forMs(): number;
}

/** A line ends this long after it was last full: where rows fall due about as fast as they are done, looks differ. */
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
      // A look may come long after the one before: until now, the line was as that one saw it.
      if (isFull || itWasFull) lastFull = now;
      isFull = itWasFull;
    },
    forMs() {
      const now = clock();
      return stands(now) ? now - began : 0;
    },
  };
}
