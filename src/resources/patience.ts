import { aWaitingRoom, waitingForDatabase, type Wait } from "../database/waiting.ts";

/**
 * Runs idempotent database work for a request of the platform, waiting out a database that is away for a moment: any
 * answer that is not a success is final for the platform, so a passing fault must not become one.
 */
export type Patience = <Result>(work: (wait: Wait) => Promise<Result>) => Promise<Result>;

/** What one request may wait in all, so that it is answered before the platform gives up. */
export const REQUEST_MS = 8_000;
/** What is left for the last write, when the vendor's function has used up the rest. */
const LEAST_MS = 2_000;

const room = aWaitingRoom();

/**
 * The patience of one request, counted from when it came (`performance.now()`): it may have waited for a start.
 * `leastAtFirstMs`: what its first work gets in any case; after that the database is there, and each gets 2 s.
 */
export function createPatience(cameAt: number, leastAtFirstMs = LEAST_MS): Patience {
  const until = cameAt + REQUEST_MS;
  let leastMs = leastAtFirstMs;
  return (work) => {
    const upToMs = Math.max(until - performance.now(), leastMs);
    leastMs = LEAST_MS;
    return waitingForDatabase(work, { upToMs, room });
  };
}
