import { setTimeout as sleep } from "node:timers/promises";
import { KitError } from "../errors.ts";
import { isPassing } from "./failure.ts";

/** The database could not be had in time. Nothing is known about the last try: it may have taken effect. */
export class DatabaseUnavailable extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("database_unavailable", message, options);
  }
}

/** Whether the database is away: somebody waited in vain, or, where nobody did, the driver's own error says so. */
export function isDatabaseAway(error: unknown): boolean {
  // Those of the platform are ours, and mean something else.
  return error instanceof KitError ? error instanceof DatabaseUnavailable : isPassing(error);
}

/** How many may wait at once; beyond that, waiting fails at once. Share one among all that one outage would hold up. */
export type WaitingRoom = { waiting: number; readonly seats: number };

export const aWaitingRoom = (seats = 100): WaitingRoom => ({ waiting: 0, seats });

/** A try that hangs is left alone this long after the deadline, for it may be about to succeed. */
const GRACE_MS = 1000;

/** So late after that says that the whole process stood still (a frozen container): the database need not be away. */
const OVERSLEPT_MS = 500;
/** For so long more, at most, the database is then asked. */
const AGAIN_MS = 5000;

type Patience = {
  upToMs?: number;
  room?: WaitingRoom;
  /** Whether another try may succeed after this error; those that pass by themselves unless given. */
  isCurable?: (error: unknown) => boolean;
};

/**
 * Runs `work` until it succeeds, for the database may be restarting, failing over or out of reach for a moment. `work`
 * must be idempotent: after a lost connection nobody knows whether it was done. Errors that no waiting cures are
 * thrown as they are. A process that stood still beyond the deadline tries for five seconds more.
 *
 * @throws DatabaseUnavailable after `upToMs` (8 s unless given; at most a second later unless the process stood still), or
 * at once when the room is full
 */
export async function waitingForDatabase<T>(
  work: () => Promise<T>,
  { upToMs = 8000, room, isCurable = isPassing }: Patience = {},
): Promise<T> {
  const timeLeftMs = timeLeft(upToMs);
  let isSeated = false;
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await inTime(work(), () => timeLeftMs() + GRACE_MS);
      } catch (error) {
        if (!isCurable(error)) throw error;
        const pauseMs = jittered(Math.min(50 * 2 ** (tries - 1), 1000));
        if (pauseMs > timeLeftMs()) throw unavailable(`did not answer within ${upToMs} ms`, error);
        if (room && !isSeated) isSeated = takeSeat(room, error);
        await sleep(pauseMs);
      }
    }
  } finally {
    if (room && isSeated) room.waiting -= 1;
  }
}

function takeSeat(room: WaitingRoom, cause: unknown): true {
  if (room.waiting >= room.seats)
    throw unavailable(`does not answer, and ${room.waiting} are waiting already`, cause);
  room.waiting += 1;
  return true;
}

/** Milliseconds until the deadline; where it was overslept, once, those until another one. */
function timeLeft(upToMs: number): () => number {
  let deadline = performance.now() + upToMs;
  let hasOverslept = false;
  return () => {
    const leftMs = deadline - performance.now();
    if (hasOverslept || leftMs > -(GRACE_MS + OVERSLEPT_MS)) return leftMs;
    hasOverslept = true;
    deadline = performance.now() + Math.min(upToMs, AGAIN_MS);
    return deadline - performance.now();
  };
}

function inTime<T>(work: Promise<T>, timeLeftMs: () => number): Promise<T> {
  return new Promise((resolve, reject) => {
    // Time is looked at again when it seems to be over: it may have been overslept.
    const look = () => {
      if (timeLeftMs() <= 0) reject(unavailable("did not answer in time"));
      else timer = setTimeout(look, timeLeftMs());
    };
    let timer = setTimeout(look, Math.max(timeLeftMs(), 0));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function unavailable(what: string, cause?: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable(`the database ${what}`, { cause });
}

/** Half to full of it, so that those who failed together do not come back together. */
function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}
