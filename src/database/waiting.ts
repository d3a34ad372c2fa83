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

/** One caller's wait for the database, for whoever works for it: no try begins after its end. */
export type Wait = {
  /** Its end, by `performance.now()`; `isOver` reads it. */
  until: number;
  readonly upToMs: number;
  hasOverslept: boolean;
  /** The caller has its answer, or was refused. */
  hasEnded: boolean;
  /** What went wrong last: the cause that the caller hears. */
  trouble: unknown;
};

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
 * must be idempotent: after a lost connection nobody knows whether it was done. It is given its caller's wait. Errors that
 * no waiting cures are thrown as they are. A process that stood still beyond the deadline tries for five seconds more.
 *
 * @throws DatabaseUnavailable after `upToMs` (8 s unless given; at most a second later unless the process stood still), or
 * at once when the room is full
 */
export async function waitingForDatabase<T>(
  work: (wait: Wait) => Promise<T>,
  { upToMs = 8000, room, isCurable = isPassing }: Patience = {},
): Promise<T> {
  const wait = aWait(upToMs);
  let isSeated = false;
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await inTime(work(wait), wait);
      } catch (error) {
        if (!isCurable(error)) throw error;
        const pauseMs = jittered(Math.min(50 * 2 ** (tries - 1), 1000));
        if (pauseMs > timeLeftMs(wait)) throw unavailable(`did not answer within ${upToMs} ms`, error);
        wait.trouble = error;
        if (room && !isSeated) isSeated = takeSeat(room, error);
        await sleep(pauseMs);
      }
    }
  } finally {
    wait.hasEnded = true;
    if (room && isSeated) room.waiting -= 1;
  }
}

function aWait(upToMs: number): Wait {
  const until = performance.now() + upToMs;
  return { until, upToMs, hasOverslept: false, hasEnded: false, trouble: undefined };
}

/** Is it too late to begin another try? Then the caller is refused, and must not be served behind its back. */
export function isOver(wait: Wait): boolean {
  return wait.hasEnded || timeLeftMs(wait) <= 0;
}

/** What a caller is told whose wait is over. */
export function inVain({ trouble }: Wait): DatabaseUnavailable {
  return unavailable("did not answer in time", trouble);
}

function takeSeat(room: WaitingRoom, cause: unknown): true {
  if (room.waiting >= room.seats)
    throw unavailable(`does not answer, and ${room.waiting} are waiting already`, cause);
  room.waiting += 1;
  return true;
}

/** Milliseconds until its end; where that was overslept, once, those until another one. */
function timeLeftMs(wait: Wait): number {
  const leftMs = wait.until - performance.now();
  if (wait.hasOverslept || leftMs > -(GRACE_MS + OVERSLEPT_MS)) return leftMs;
  wait.hasOverslept = true;
  wait.until = performance.now() + Math.min(wait.upToMs, AGAIN_MS);
  return wait.until - performance.now();
}

function inTime<T>(work: Promise<T>, wait: Wait): Promise<T> {
  const untilGivenUpMs = () => timeLeftMs(wait) + GRACE_MS;
  return new Promise((resolve, reject) => {
    // Time is looked at again when it seems to be over: it may have been overslept.
    const look = () => {
      if (untilGivenUpMs() <= 0) reject(inVain(wait));
      else timer = setTimeout(look, untilGivenUpMs());
    };
    let timer = setTimeout(look, Math.max(untilGivenUpMs(), 0));
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
