import type { Log } from "./log.ts";

/** Of the requests with wrong credentials, so many a window have a line of their own; the others are counted. */
const MOST_LINES = 20;
const WINDOW_MS = 10_000;

/**
 * Keeps whoever guesses passwords by the thousand from filling the log: says of each refused request whether it is
 * written down, and at the end of a window how many were not.
 */
export function createRefusedSample(log: Log): () => boolean {
  let count = 0;

  function tell(): void {
    const leftOut = count - MOST_LINES;
    count = 0;
    if (leftOut > 0) log.warn({ leftOut }, "More requests with wrong credentials than are written down");
  }

  return () => {
    count += 1;
    if (count === 1) setTimeout(tell, WINDOW_MS).unref();
    return count <= MOST_LINES;
  };
}
