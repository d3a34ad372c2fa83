import { DatabaseUnavailable } from "../database/database.ts";
import { KitError } from "../errors.ts";
import type { Pace } from "../pace.ts";
import { createRequestDeadline, type WithinDeadline } from "./request-deadline.ts";

/**
 * A request whose turn comes later than this share of its time (11 s) is refused: the work before its answer may take
 * seconds more, and the platform gives up after 20 s.
 */
const IN_LINE = 1.375;

/**
 * Requests for one resource take turns within a process: a repeated provision waits for the first one's answer instead
 * of racing it, and plan changes happen in the order of their arrival. Across processes the database decides. Each
 * request gets its own deadline, counted from its arrival `receivedAtMs` (`performance.now()`).
 *
 * Throws what `work` throws. If the turn comes too late, throws a `DatabaseUnavailable` or a `KitError` "overloaded",
 * and `work` is never called.
 */
export function createResourceMutex(pace: Pace) {
  const last = new Map<string, Promise<unknown>>();
  return async function runExclusive<Result>(
    uuid: string,
    receivedAtMs: number,
    work: (withinDeadline: WithinDeadline) => Promise<Result>,
  ): Promise<Result> {
    const former = last.get(uuid);
    const turn = former
      ? waitForPrevious(former, receivedAtMs, pace, work)
      : work(createRequestDeadline(receivedAtMs, pace));
    last.set(uuid, turn);
    try {
      return await turn;
    } finally {
      if (last.get(uuid) === turn) last.delete(uuid);
    }
  };
}

export type RunExclusive = ReturnType<typeof createResourceMutex>;

/**
 * Waits for the former request to end, without a time limit of its own. The former one arrived earlier, so if the
 * database is away, it gives up before this one's time is over. If it was answered, this one should be too, even if the
 * vendor was slow.
 */
async function waitForPrevious<Result>(
  former: Promise<unknown>,
  receivedAtMs: number,
  pace: Pace,
  work: (withinDeadline: WithinDeadline) => Promise<Result>,
): Promise<Result> {
  const outage = await former.then(() => null, outageIn);
  const sinceMs = performance.now() - receivedAtMs;
  if (outage && sinceMs >= pace.requestMs) throw outage;
  if (sinceMs > pace.requestMs * IN_LINE)
    throw new KitError("overloaded", "The requests before it for the same resource took too long");
  return work(createRequestDeadline(receivedAtMs, pace, outage ? 0 : undefined));
}

function outageIn(error: unknown): DatabaseUnavailable | null {
  return error instanceof DatabaseUnavailable ? error : null;
}
