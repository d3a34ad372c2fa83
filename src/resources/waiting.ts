import { setTimeout as sleep } from "node:timers/promises";
import { aWaitingRoom, retryWhileDatabaseAway, type Deadline } from "../database/retry.ts";
import type { Pace } from "../pace.ts";

/**
 * Runs idempotent database work for a request of the platform, waiting while the database is away for a moment. Any
 * answer other than a success is final for the platform, so a passing fault must not become one.
 */
export type WithinDeadline = <Result>(work: (deadline: Deadline) => Promise<Result>) => Promise<Result>;

/** How long each piece of work may wait at least, even when the vendor's function has used up the rest. */
const LEAST_MS = 2_000;

const room = aWaitingRoom();

/**
 * The deadline of one request, counted from its arrival `receivedAtMs` (`performance.now()`), since it may have waited
 * for this process to start.
 */
export function requestDeadline(
  receivedAtMs: number,
  { requestMs }: Pick<Pace, "requestMs">,
): WithinDeadline {
  const until = receivedAtMs + requestMs;
  const leastMs = Math.min(LEAST_MS, requestMs / 4);
  return (work) =>
    retryWhileDatabaseAway(work, { upToMs: Math.max(until - performance.now(), leastMs), room });
}

/**
 * Waits for an answer that another request, or another process, is about to store: looks for it again and again, the
 * last time with `isLate`, when `untilMs` (`performance.now()`) has passed and the platform cannot be left waiting.
 */
export async function answerInTime<Found>(
  look: (isLate: boolean) => Promise<Found | null>,
  untilMs: number,
): Promise<Found | null> {
  for (;;) {
    const isLate = performance.now() > untilMs;
    const found = await look(isLate);
    if (found !== null || isLate) return found;
    await sleep(50);
  }
}
