import type { Log } from "./log.ts";

/** This many refused requests in each window are logged; the others are only counted. */
const MOST_LINES = 20;
const WINDOW_MS = 10_000;

type Kind = "refused" | "not_found" | "wrong_method";

export interface RefusedSample {
  /**
   * Whether a refused request is logged. The first call decides, so either all lines about a request are logged or
   * none. Kinds are counted apart: thousands of requests for what is not there, or with a wrong method, hide no wrong
   * password.
   */
  isWritten(request: object, kind?: Kind): boolean;
  /** Whether a request was refused and is not logged. */
  isLeftOut(request: object): boolean;
}

/**
 * Keeps a caller whose requests are refused by the thousand from filling the log: decides for each refused request
 * whether it is logged, and logs at the end of each window how many were not.
 */
export function createRefusedSample(log: Log): RefusedSample {
  const decided = new WeakMap<object, boolean>();
  const counts: Record<Kind, number> = { refused: 0, not_found: 0, wrong_method: 0 };

  function tell(kind: Kind): void {
    const leftOut = counts[kind] - MOST_LINES;
    counts[kind] = 0;
    if (leftOut > 0) log.warn({ leftOut, kind }, "Refused requests were left out of the log");
  }

  function decide(kind: Kind): boolean {
    counts[kind] += 1;
    if (counts[kind] === 1) setTimeout(tell, WINDOW_MS, kind).unref();
    return counts[kind] <= MOST_LINES;
  }

  return {
    isWritten(request, kind = "refused") {
      const isWritten = decided.get(request) ?? decide(kind);
      decided.set(request, isWritten);
      return isWritten;
    },
    isLeftOut: (request) => decided.get(request) === false,
  };
}
