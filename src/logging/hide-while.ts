import type { Scrubber } from "./scrubber.ts";
import type { Secret } from "../secret.ts";

/** Keeps secrets out of the log from now on, until the work has ended. */
export type Hide = (...secrets: readonly Secret[]) => void;

/**
 * Runs the work of a request, and keeps the secrets that it passes to `hide` out of the log until the work has ended.
 * The end of the connection does not count: a caller may leave before anything is hidden, and a later failure is logged
 * too.
 */
export async function hideWhile<Result>(
  scrubber: Scrubber,
  work: (hide: Hide) => Promise<Result>,
): Promise<Result> {
  const shows: (() => void)[] = [];
  try {
    return await work((...secrets) => void shows.push(scrubber.hide(...secrets)));
  } finally {
    // The caller that awaits this promise logs a failure before `setImmediate` runs, so its log line is still redacted.
    setImmediate(() => shows.forEach((show) => show()));
  }
}
