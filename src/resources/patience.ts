import { aWaitingRoom, waitingForDatabase, type Wait } from "../database/waiting.ts";

/**
 * Runs idempotent database work for a request of the platform, waiting out a database that is away for a moment: any
 * answer that is not a success is final for the platform, so a passing fault must not become one.
 */
export type Patience = <Result>(work: (wait: Wait) => Promise<Result>) => Promise<Result>;

/** What one request may wait in all, so that it is answered before the platform gives up. */
const REQUEST_MS = 8_000;
/** What is left for the last write, when the vendor's function has used up the rest. */
const LEAST_MS = 2_000;

const room = aWaitingRoom();

/** The patience of one request, counted from when it came (`performance.now()`): it may have waited for a start. */
export function createPatience(cameAt = performance.now()): Patience {
  const until = cameAt + REQUEST_MS;
  return (work) => waitingForDatabase(work, { upToMs: Math.max(until - performance.now(), LEAST_MS), room });
}
