import type { Log } from "./log.ts";

/** Of refused requests, so many a window have lines of their own; the others are counted. */
const MOST_LINES = 20;
const WINDOW_MS = 10_000;

export interface RefusedSample {
  /** Whether a refused request is written down: all that is said of it, or nothing. */
  isWritten(request: object): boolean;
  /** Whether a request was refused, and is not. */
  isLeftOut(request: object): boolean;
}

/**
 * Keeps whoever sends by the thousand what is refused from filling the log: says of each refused request whether it is
 * written down, and at the end of a window how many were not.
 */
export function createRefusedSample(log: Log): RefusedSample {
  const decided = new WeakMap<object, boolean>();
  let count = 0;

  function tell(): void {
    const leftOut = count - MOST_LINES;
    count = 0;
    if (leftOut > 0) log.warn({ leftOut }, "More refused requests than are written down");
  }

  function decide(): boolean {
    count += 1;
    if (count === 1) setTimeout(tell, WINDOW_MS).unref();
    return count <= MOST_LINES;
  }

  return {
    isWritten(request) {
      const isWritten = decided.get(request) ?? decide();
      decided.set(request, isWritten);
      return isWritten;
    },
    isLeftOut: (request) => decided.get(request) === false,
  };
}
