import { isAccepted } from "../http/accepted.ts";
import type { Log } from "./log.ts";

/** This many refused requests of a kind in each window are logged; the others are only counted. */
const MOST_LINES = 20;
const WINDOW_MS = 60_000;

export interface RefusedSample {
  /**
   * Whether a refused request is logged; always, if it has right credentials. The first call decides, so either all
   * lines about a request are logged or none. Kinds, such as the status, are counted apart: thousands of requests for
   * what is not there hide no wrong password.
   */
  isWritten(request: object, kind?: string | number): boolean;
}

/**
 * Keeps strangers whose requests are refused by the thousand from filling the log: decides for each whether it is
 * logged, and logs at the end of each window how many were not.
 */
export function createRefusedSample(log: Log): RefusedSample {
  const decided = new WeakMap<object, boolean>();
  const counts = new Map<string | number, number>();

  function report(kind: string | number): void {
    const leftOut = counts.get(kind)! - MOST_LINES;
    counts.delete(kind);
    if (leftOut > 0) log.info({ leftOut, kind }, "Refused requests were left out of the log");
  }

  function decide(kind: string | number): boolean {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    if (count === 1) setTimeout(report, WINDOW_MS, kind).unref();
    return count <= MOST_LINES;
  }

  return {
    isWritten(request, kind = "refused") {
      if (isAccepted(request)) return true;
      const isWritten = decided.get(request) ?? decide(kind);
      decided.set(request, isWritten);
      return isWritten;
    },
  };
}
