import { setTimeout as sleep } from "node:timers/promises";
import { KitError } from "../errors.ts";
import { isConflict, isPatienceOver, isTransient } from "./failure.ts";

/** The database did not answer in time. The last try may have taken effect all the same. */
export class DatabaseUnavailable extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("database_unavailable", message, options);
  }
}

/** Whether the database is away: a wait for it was in vain, or, without a wait, the driver's own error says so. */
export function isDatabaseAway(error: unknown): boolean {
  // Other errors of the kit, such as a failed call to the platform, say nothing about the database.
  return error instanceof KitError ? error instanceof DatabaseUnavailable : isTransient(error);
}

/** Is it the whole database that is away, and not only one row or one statement that is locked, or takes too long? */
export function isUnreachable(error: unknown): boolean {
  const last = error instanceof DatabaseUnavailable ? error.cause : error;
  return isDatabaseAway(error) && !isConflict(last) && !isPatienceOver(last);
}

/** Limits how many callers wait at once; any more fail at once. One for all whom the same outage would hold up. */
export type WaitingRoom = { waiting: number; readonly seats: number };

export const aWaitingRoom = (seats = 100): WaitingRoom => ({ waiting: 0, seats });

/** How long one caller waits for the database, passed to the work that is done for it: no try begins after its end. */
export type Deadline = {
  /** Its end, by `performance.now()`. */
  readonly until: number;
  /** The caller has its answer, or was refused. */
  hasEnded: boolean;
  /** The last error; it becomes the `cause` of the error that the caller gets. */
  trouble: unknown;
};

/** A try that hangs is left alone this long after the deadline, because it may be about to succeed. */
const GRACE_MS = 1000;

type Patience = {
  upToMs?: number;
  room?: WaitingRoom;
  /** Whether another try may succeed after this error; `isTransient` unless given. */
  isCurable?: (error: unknown) => boolean;
};

/**
 * Runs `work` until it succeeds: the database may be restarting, failing over or out of reach for a moment. `work` must
 * be idempotent: after a lost connection nobody knows whether it was done. Errors that waiting cannot cure are thrown as
 * they are.
 *
 * @throws DatabaseUnavailable after `upToMs` (8 s unless given; at most a second later), or at once when the room is
 * full
 */
export async function retryWhileDatabaseAway<T>(
  work: (deadline: Deadline) => Promise<T>,
  { upToMs = 8000, room, isCurable = isTransient }: Patience = {},
): Promise<T> {
  const deadline: Deadline = { until: performance.now() + upToMs, hasEnded: false, trouble: undefined };
  let isSeated = false;
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await inTime(work(deadline), deadline);
      } catch (error) {
        if (!isCurable(error)) throw error;
        deadline.trouble = error;
        // Jittered, so that callers that failed together do not try again together.
        const pauseMs = Math.min(50 * 2 ** (tries - 1), 1000) * (0.5 + Math.random() / 2);
        if (performance.now() + pauseMs > deadline.until) throw deadlinePassed(deadline);
        if (room && !isSeated) isSeated = takeSeat(room, error);
        await sleep(pauseMs);
      }
    }
  } finally {
    deadline.hasEnded = true;
    if (room && isSeated) room.waiting -= 1;
  }
}

/** Is it too late to begin another try? Then the caller is refused, and nothing may be done for it afterwards. */
export function hasPassed({ hasEnded, until }: Deadline): boolean {
  return hasEnded || performance.now() >= until;
}

export function deadlinePassed({ trouble }: Deadline): DatabaseUnavailable {
  return new DatabaseUnavailable("the database did not answer in time", { cause: trouble });
}

function takeSeat(room: WaitingRoom, cause: unknown): true {
  if (room.waiting >= room.seats)
    throw new DatabaseUnavailable(`the database does not answer, and ${room.waiting} are waiting already`, {
      cause,
    });
  room.waiting += 1;
  return true;
}

async function inTime<T>(work: Promise<T>, deadline: Deadline): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const leftMs = deadline.until - performance.now() + GRACE_MS;
    timer = setTimeout(() => reject(deadlinePassed(deadline)), leftMs);
  });
  return Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
}
