import type { Log } from "./log.ts";

/** This many refused requests in each window are logged; the others are only counted. */
const MOST_LINES = 20;
const WINDOW_MS = 10_000;

export interface RefusedSample {
  /**
   * Whether a refused request is logged. The first call decides, so either all lines about a request are logged or
   * none.
   */
  isWritten(request: object): boolean;
  /** Whether a request was refused and is not logged. */
  isLeftOut(request: object): boolean;
}

/**
 * Keeps a caller whose requests are refused by the thousand from filling the log: decides for each refused request
 * whether it is logged, and logs at the end of each window how many were not.
 */
export function createRefusedSample(log: Log): RefusedSample {
  const decided = new WeakMap<object, boolean>();
  let count = 0;

  function tell(): void {
    const leftOut = count - MOST_LINES;
    count = 0;
    if (leftOut > 0) log.warn({ leftOut }, "Refused requests were left out of the log");
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
