/** Whether more rows are due than can be started, seen by one look after the other. */
export interface Line {
  /** A look took as many rows as it could, or fewer. */
  saw(isFull: boolean): void;
  /** For how long a line has stood, in ms; 0: none does. */
  forMs(): number;
}

/** Looks that now and then take fewer, as where rows fall due about as fast as they are done, do not end a line at once. */
const ENDS_AFTER_MS = 1_000;

export function createLine(): Line {
  let began = 0;
  let lastFull = -Infinity;
  let isFull = false;
  const stands = (now: number) => isFull || now - lastFull < ENDS_AFTER_MS;

  return {
    saw(itWasFull) {
      const now = performance.now();
      if (itWasFull) {
        if (!stands(now)) began = now;
        lastFull = now;
      }
      isFull = itWasFull;
    },
    forMs() {
      const now = performance.now();
      return stands(now) ? now - began : 0;
    },
  };
}
