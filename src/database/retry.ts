import { setTimeout as sleep } from "node:timers/promises";
import { KitError, messageOf } from "../errors.ts";
import { within } from "../within.ts";

// Which errors of the driver, of Node and of Prisma another try may cure, the one place that tries again, and what watches
// an outage. The states are PostgreSQL's SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Connection (08), resources (53), a lock (55P03), cancelled (57014), shut down (57P…), too long (25P…), read-only. */
const PASSING_STATES = /^(08|53|55P03|57014|57P0[1235]|25006|25P0[34])/;
const PASSING_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|ETIMEDOUT|EPIPE|EPROTO|ENOENT|ENOTFOUND|EAI_\w+|E(HOST|NET)(UNREACH|DOWN)|P10(01|02|08|17)|P20(24|28|37))$/;
const PASSING_MESSAGES =
  /Connection (terminated|ended)|Query read timeout|timeout exceeded|not queryable|has closed the connection/;
/** A value that does not fit (22), breaks a constraint (23), or is more than PostgreSQL can hold in one place (54). */
const DATA_STATES = /^(22|23|54)/;
/** A right is missing, or a pooler lets clients take turns on its sessions: a named statement is there, or is not. */
const OPERATORS_STATES = /^(42501|42P05|26000)/;
/** PgBouncer refuses what each of our connections begins with, unless it is told to ignore it. */
const POOLER_MESSAGE = /unsupported startup parameter/;

const refusals = new WeakSet<object>();

/** Notes that this error kept us from connecting, so that no statement was run. */
export function refused(error: unknown): unknown {
  if (typeof error === "object" && error !== null) refusals.add(error);
  return error;
}
const wasRefused = (error: unknown) => refusals.has(Object(error) as object);

/**
 * Is another try soon worth it? In a running service always if no statement was run: the database accepted us before,
 * and an operator may be changing the password or restoring a backup. Start-up checks {@link isConnectionConfigError}
 * first.
 */
export function isTransient(error: unknown): boolean {
  return wasRefused(error) || passes(error);
}

function passes(error: unknown): boolean {
  const { state, code, message, routine } = clues(error);
  if (isConflict(error)) return true;
  // The plan of a named statement whose table has changed; the connection is closed, and with it the plan.
  if (state) return PASSING_STATES.test(state) || routine === "RevalidateCachedQuery";
  return PASSING_CODES.test(code) || PASSING_MESSAGES.test(message);
}

/** Must an operator change something first: the address, a name, a password, a right, TLS, a pooler? */
export function isConnectionConfigError(error: unknown): boolean {
  const { state, message } = clues(error);
  if (OPERATORS_STATES.test(state) || POOLER_MESSAGE.test(message)) return true;
  return wasRefused(error) && !passes(error);
}

/** PostgreSQL ended one of two transactions that stood in each other's way. */
export function isConflict(error: unknown): boolean {
  const { state, code } = clues(error);
  return state === "40001" || state === "40P01" || code === "P2034";
}

/** Did another session hold a lock for longer than we wait? Other rows of the same statement may be free. */
export const isLockTimeout = (error: unknown) => clues(error).state === "55P03";

export const isDataError = (error: unknown) => DATA_STATES.test(clues(error).state);

/** May the connection serve others after this error? In doubt, no: opening another one is cheap. */
export function leavesConnectionSound(error: unknown): boolean {
  return clues(error).state !== "" && !isTransient(error);
}

/** PostgreSQL's own errors carry a SQLSTATE (and a `severity`), which Prisma hides in `meta`; others have a `code`. */
function clues(error: unknown) {
  const { message = "", code = "", severity, routine = "", meta } = Object(error) as Partial<DriverError>;
  const prisma = meta?.driverAdapterError;
  const state = prisma?.cause?.originalCode ?? (severity === undefined ? "" : code);
  return { state, code, message: `${message} ${prisma?.message ?? ""}`, routine };
}

type DriverError = {
  message: string;
  code: string;
  severity: string;
  routine: string;
  meta: { driverAdapterError?: { message?: string; cause?: { originalCode?: string } } };
};

/** The last try may have taken effect all the same. */
export class DatabaseUnavailable extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("database_unavailable", message, options);
  }
}

/** A wait for the database was in vain, or, without a wait, the driver's own error says that it is away. */
export function isDatabaseAway(error: unknown): boolean {
  // Other errors of the kit, such as a failed call to the platform, say nothing about the database.
  return error instanceof KitError ? error instanceof DatabaseUnavailable : isTransient(error);
}

/** Is it the whole database that is away, and not only one row or one statement that is locked, or takes too long? */
function isUnreachable(error: unknown): boolean {
  const last = error instanceof DatabaseUnavailable ? error.cause : error;
  return isDatabaseAway(error) && !isConflict(last) && !["55P03", "57014"].includes(clues(last).state);
}

/** Limits how many callers wait at once; any more fail at once. One for all whom the same outage would hold up. */
type WaitingRoom = { waiting: number; readonly seats: number };

export const aWaitingRoom = (seats = 100): WaitingRoom => ({ waiting: 0, seats });

/** How long one caller waits for the database: no try begins after its end. */
export type Deadline = {
  /** Its end, by `performance.now()`. */
  readonly until: number;
  /** The caller has its answer, or was refused. */
  hasEnded: boolean;
  /** The last error; it becomes the `cause` of the error that the caller gets. */
  trouble: unknown;
};

/** A try that hangs may be about to succeed. */
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
        const ms = deadline.until - performance.now() + GRACE_MS;
        return await within(ms, work(deadline), () => deadlinePassed(deadline));
      } catch (error) {
        if (!isCurable(error)) throw error;
        deadline.trouble = error;
        // Jittered, so that callers that failed together do not try again together.
        const pauseMs = Math.min(50 * 2 ** (tries - 1), 1000) * (0.5 + Math.random() / 2);
        if (performance.now() + pauseMs > deadline.until) throw deadlinePassed(deadline);
        if (room && !isSeated) {
          const message = `the database does not answer, and ${room.waiting} are waiting already`;
          if (room.waiting >= room.seats) throw new DatabaseUnavailable(message, { cause: error });
          room.waiting += 1;
          isSeated = true;
        }
        await sleep(pauseMs);
      }
    }
  } finally {
    deadline.hasEnded = true;
    if (room && isSeated) room.waiting -= 1;
  }
}

/** Too late to begin another try? Then the caller is refused, and nothing may be done for it afterwards. */
export function hasPassed({ hasEnded, until }: Deadline): boolean {
  return hasEnded || performance.now() >= until;
}

export function deadlinePassed({ trouble }: Deadline): DatabaseUnavailable {
  return new DatabaseUnavailable("the database did not answer in time", { cause: trouble });
}

const PING_EVERY_MS = 1_000;
/** A request waits as long for the database; a shorter outage costs nobody anything. */
const ALARM_AFTER_SECONDS = 8;
/** Fewer failures in that time mean that the process stood still. */
const ALARM_AFTER_PINGS = 3;

type Watched = {
  ping(): Promise<void>;
  log: Record<"warn" | "error", (members: object, message: string) => void>;
};

/**
 * Logs an outage of the database once: its beginning, an alarm if it lasts for 8 seconds, its end. `noticed` is called
 * with every error of the database; after one that may be an outage, a ping a second follows until the database answers.
 */
export function createOutageWatch({ ping, log }: Watched) {
  const closing = new AbortController();
  let watch: Promise<void> | null = null;

  async function untilItAnswers(): Promise<void> {
    const begunMs = performance.now();
    let isAlarmed = false;
    for (let failed = 1; !closing.signal.aborted; failed++) {
      const reason = await ping().then(() => null, messageOf);
      const seconds = Math.round((performance.now() - begunMs) / 1_000);
      if (reason === null)
        return void (failed > 1 && log.warn({ seconds }, "The database is reachable again"));
      if (failed === 1) log.warn({ reason }, "The database is unreachable; trying until it answers");
      if (!isAlarmed && failed >= ALARM_AFTER_PINGS && seconds >= ALARM_AFTER_SECONDS) {
        isAlarmed = true;
        log.error({ alarm: "database_unreachable", reason, seconds }, "The database is unreachable");
      }
      await sleep(PING_EVERY_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
  }

  return {
    noticed(error: unknown): void {
      if (watch || closing.signal.aborted || !isUnreachable(error)) return;
      watch = untilItAnswers().finally(() => (watch = null));
    },
    /** Ends the watch; resolves when no ping is under way. */
    async close(): Promise<void> {
      closing.abort();
      await watch;
    },
  };
}
