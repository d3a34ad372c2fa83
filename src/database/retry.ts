import { setTimeout as sleep } from "node:timers/promises";
import { chainOf, KitError, messageOf, Misconfigured } from "../errors.ts";
import { within } from "../within.ts";

// Which errors of the driver, of Node and of Prisma another try may cure, the one place that tries again, and what watches
// an outage. The states are PostgreSQL's SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Connection (08), resources (53), cancelled (57014), shut down (57P…), too long (25P…), read-only. */
const PASSING_STATES = /^(08|53|57014|57P0[1235]|25006|25P0[34])/;
const PASSING_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|E[MN]FILE|EADDRNOTAVAIL|EBUSY|ETIMEDOUT|EPIPE|EPROTO|ENOENT|ENOTFOUND|EAI_\w+|E(HOST|NET)(UNREACH|DOWN)|P10(01|02|08|17)|P20(24|28|37))$/;
const PASSING_MESSAGES =
  /Connection (terminated|ended)|Query read timeout|timeout exceeded|not queryable|has closed the connection/;
/** Another transaction stood in the way: a conflict, a deadlock, a lock that it held for longer than we wait. */
const HELD_UP_STATES = /^(40001|40P01|55P03)/;
/** Of the passing ones, those that may stay: no room on the disk or in memory, a limit of the server, too long. */
const LASTING_STATES = /^(53[124]|57014)/;
/** A value that does not fit (22), breaks a constraint (23), or is more than PostgreSQL can hold in one place (54). */
const DATA_STATES = /^(22|23|54)/;
/** A right is missing, or a pooler shares sessions: a named statement exists already, or no longer. */
const OPERATORS_STATES = /^(42501|42P05|26000)/;
/** PgBouncer refuses what each of our connections begins with, unless it is told to ignore it. */
const POOLER_MESSAGE = /unsupported startup parameter/;

const refusals = new WeakSet<object>();

/** Notes that this error kept us from connecting, so that no statement was run. */
export function refused(error: unknown): unknown {
  refusals.add(Object(error) as object);
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
  const { state, code, message } = clues(error);
  if (isHeldUp(error)) return true;
  if (state) return PASSING_STATES.test(state) || isPlanOutdated(error);
  return PASSING_CODES.test(code) || PASSING_MESSAGES.test(message);
}

/**
 * Has the table of a named statement changed, as by a migration, so that its plan returns other columns? The statement
 * was not run. The connection is closed, and with it the plan.
 */
export const isPlanOutdated = (error: unknown) => clues(error).routine === "RevalidateCachedQuery";

/**
 * Is it over by itself at a later try, or does the alarm of an outage report it? Not what lasts until an operator ends
 * it: a full disk, too little memory, a statement that takes too long.
 */
export function endsByItself(error: unknown): boolean {
  const isLasting = (each: Error) => !wasRefused(each) && LASTING_STATES.test(clues(each).state);
  return isDatabaseUnreachable(error) && !chainOf(error).some(isLasting);
}

/** Must an operator change something first: the address, a name, a password, a right, TLS, a pooler? */
export function isConnectionConfigError(error: unknown): boolean {
  const { state, message } = clues(error);
  if (OPERATORS_STATES.test(state) || POOLER_MESSAGE.test(message)) return true;
  return wasRefused(error) && !passes(error);
}

/** As {@link Misconfigured} if the database's address, or what its role may do, is at fault. */
export function throwInWords(error: unknown, setting = "DATABASE_URL"): never {
  if (error instanceof KitError || !isConnectionConfigError(error)) throw error;
  const words = `${setting}: the database says: ${messageOf(error)}`;
  const where = `TLS: sslmode in ${setting}, and DATABASE_CA. A pooler: docs/scale.md, "Connection poolers".`;
  throw new Misconfigured(`${words}. ${where}`, { cause: error });
}

/** Did another transaction stand in the way? Other rows of the same statement may be free. */
export function isHeldUp(error: unknown): boolean {
  const { state, code } = clues(error);
  return HELD_UP_STATES.test(state) || code === "P2034";
}

/** Whether it says nothing of the database: a locked row, or a slow statement. */
export const mayConcernOne = (error: unknown) => isHeldUp(error) || clues(error).state === "57014";

export const isDataError = (error: unknown) => DATA_STATES.test(clues(error).state);

/** No room, no memory, too many sessions (53), the disk (58), damage (XX), read-only, no right. */
const REFUSING_STATES = /^(53...|58...|XX00[12]|25006|42501)$/;

/** The SQLSTATE with which the database refused a statement for its own state, whatever the data; null: another fault. */
export function refusingState(error: unknown): string | null {
  const { state } = clues(error);
  return REFUSING_STATES.test(state) ? state : null;
}

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

/** A wait for the database was in vain, or, without a wait, the driver's own error says that it is unreachable. */
export function isDatabaseUnreachable(error: unknown): boolean {
  // Other errors of the kit, such as a failed call to the platform, say nothing about the database.
  return error instanceof KitError ? error instanceof DatabaseUnavailable : isTransient(error);
}

/** At most this many of the platform's requests wait for the database; further ones fail immediately. */
const MOST_REQUESTS = 100;
let requestsWaiting = 0;

/** A try that hangs may be about to succeed. */
const GRACE_MS = 1000;

type Patience = {
  upToMs?: number;
  /** One of the platform's requests, of which only so many may wait. */
  isRequest?: boolean;
  /** Whether another try may succeed after this error; `isTransient` unless given. */
  isCurable?: (error: unknown) => boolean;
};

/**
 * Runs `work` until it succeeds: the database may be restarting, failing over or out of reach for a moment. `work` must
 * be idempotent: after a lost connection nobody knows whether it was done. It may ask whether it is too late: the caller
 * has an answer, or will be refused. Errors that waiting cannot cure are thrown as they are.
 *
 * @throws DatabaseUnavailable after `upToMs` (8 s unless given; at most a second later), or at once when too many wait
 */
export async function retryWhileUnreachable<T>(
  work: (isTooLate: () => boolean) => Promise<T>,
  { upToMs = 8000, isRequest = false, isCurable = isTransient }: Patience = {},
): Promise<T> {
  const until = performance.now() + upToMs;
  let isAnswered = false;
  // The clock decides: after the process stood still, no timer has run yet.
  const isTooLate = () => isAnswered || performance.now() >= until;
  let trouble: unknown;
  let isWaiting = false;
  try {
    for (let tries = 1; ; tries++) {
      try {
        const ms = until - performance.now() + GRACE_MS;
        return await within(ms, work(isTooLate), () => unavailable(trouble));
      } catch (error) {
        if (!isCurable(error)) throw error;
        trouble = error;
        // Jittered, so that callers that failed together do not try again together.
        const pauseMs = Math.min(50 * 2 ** (tries - 1), 1000) * (0.5 + Math.random() / 2);
        const isCrowded = isRequest && !isWaiting && requestsWaiting >= MOST_REQUESTS;
        if (isCrowded || performance.now() + pauseMs > until) throw unavailable(error);
        if (isRequest && !isWaiting) requestsWaiting += 1;
        isWaiting = true;
        await sleep(pauseMs);
        if (isTooLate()) throw unavailable(error);
      }
    }
  } finally {
    isAnswered = true;
    if (isRequest && isWaiting) requestsWaiting -= 1;
  }
}

const unavailable = (cause: unknown) =>
  new DatabaseUnavailable("the database did not answer in time", { cause });

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
      // A ping would wait for a connection in vain.
      if (watch || closing.signal.aborted || mayConcernOne(error) || !isTransient(error)) return;
      watch = untilItAnswers().finally(() => (watch = null));
    },
    /** Ends the watch; resolves when no ping is under way. */
    async close(): Promise<void> {
      closing.abort();
      await watch;
    },
  };
}
