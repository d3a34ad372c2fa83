import type { Scrubber } from "./scrubber.ts";
import type { Secret } from "./secret.ts";

/** Keeps secrets out of the log from now on, until the work is over. */
export type Hide = (...secrets: readonly Secret[]) => void;

/**
 * Does the work of a request and keeps what it hides out of the log meanwhile. The end of the work counts, and not that
 * of the connection: a caller may be gone before anything is hidden, and what fails after he went is logged all the same.
 */
export async function hideWhile<Result>(
  scrubber: Scrubber,
  work: (hide: Hide) => Promise<Result>,
): Promise<Result> {
  const shows: (() => void)[] = [];
  try {
    return await work((...secrets) => void shows.push(scrubber.hide(...secrets)));
  } finally {
    // What went wrong is logged by whoever waits for this, before anything else has its turn.
    setImmediate(() => shows.forEach((show) => show()));
  }
}
