import { setTimeout as sleep } from "node:timers/promises";
import { chainOf, KitError, messageOf, Misconfigured } from "../errors.ts";
import { within } from "../within.ts";

// Classifies the errors of the driver, Node and Prisma, retries database work, and watches outages. The states are
// PostgreSQL's SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Connection (08), resources (53), cancelled (57014), shut down (57P…), idle for too long (25P…), read-only (25006). */
const PASSING_STATES = /^(08|53|57014|57P0[1235]|25006|25P0[34])/;
const PASSING_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|E[MN]FILE|EADDRNOTAVAIL|EBUSY|ETIMEDOUT|EPIPE|EPROTO|ENOENT|ENOTFOUND|EAI_\w+|E(HOST|NET)(UNREACH|DOWN)|P10(01|02|08|17)|P20(24|28|37))$/;
const PASSING_MESSAGES =
  /Connection (terminated|ended)|Query read timeout|timeout exceeded|not queryable|has closed the connection/;
/** A conflict with another transaction: serialization, deadlock, lock timeout. */
const CONFLICT_STATES = /^(40001|40P01|55P03)/;
/** Passing states that may last until an operator acts: disk or memory full, a limit of the server, a slow statement. */
const LASTING_STATES = /^(53[124]|57014)/;
/** A value that does not fit (22), violates a constraint (23), or exceeds a limit of PostgreSQL (54). */
const DATA_STATES = /^(22|23|54)/;
/** A right is missing (42501), or a pooler shares sessions: a named statement exists (42P05) or is unknown (26000). */
const OPERATORS_STATES = /^(42501|42P05|26000)/;
/** PgBouncer refuses the connection options unless `ignore_startup_parameters` lists them. */
const POOLER_MESSAGE = /unsupported startup parameter/;

const refusals = new WeakSet<object>();

/** Notes that connecting failed with this error, so that no statement was run. */
export function refused(error: unknown): unknown {
  refusals.add(Object(error) as object);
  return error;
}
/** Prisma's own errors of a refused connection: a wrong password, no such database, no such role, TLS. */
const PRISMA_REFUSALS = /^P10(00|03|10|11)$/;
const wasRefused = (error: unknown) =>
  refusals.has(Object(error) as object) || PRISMA_REFUSALS.test(clues(error).code);

const SLOW_MESSAGE = /due to statement timeout/;
const slow = new WeakMap<object, Slowness>();
interface Slowness {
  /** Of the statement, or of Prisma's operation. */
  name: string;
  seconds: number;
}

/** Notes what failed with this error after so long, if PostgreSQL cut it off because it took too long. */
export function noteSlow(error: unknown, name: string, ms: number): void {
  // To one digit: it is the limit that was passed.
  if (isCutOff(error)) slow.set(error as object, { name, seconds: Math.floor(ms / 100) / 10 });
}

/** Whether PostgreSQL cut a statement off because it took too long: it has changed nothing. */
export const isCutOff = (error: unknown) => SLOW_MESSAGE.test(clues(error).message);

/** The statement that was cut off because it took too long; `null` if that is not the reason. */
export const slownessOf = (error: unknown): Slowness | null =>
  chainOf(error).flatMap((each) => slow.get(each) ?? [])[0] ?? null;

/**
 * Whether a retry may succeed soon. In a running service every failed connection counts: the database accepted
 * connections before, and an operator may be changing the password or restoring a backup. Start-up checks
 * {@link isConnectionConfigError} first.
 */
export function isTransient(error: unknown): boolean {
  return wasRefused(error) || isPassing(error);
}

function isPassing(error: unknown): boolean {
  const { state, code, message } = clues(error);
  if (isConflict(error)) return true;
  if (state) return PASSING_STATES.test(state) || isPlanOutdated(error);
  return PASSING_CODES.test(code) || PASSING_MESSAGES.test(message);
}

/**
 * Whether the plan of a named statement returns other columns since a migration changed its table. The statement was not
 * run. The plan ends when the connection is closed.
 */
export const isPlanOutdated = (error: unknown) => clues(error).routine === "RevalidateCachedQuery";

/**
 * Whether the error ends without an operator, or the outage alarm reports it. Returns `false` for a full disk, too little
 * memory and a slow statement.
 */
export function endsByItself(error: unknown): boolean {
  const isLasting = (each: Error) => !wasRefused(each) && LASTING_STATES.test(clues(each).state);
  return isDatabaseUnreachable(error) && !chainOf(error).some(isLasting);
}

/** Whether an operator must change the address, a name, a password, a right, TLS or a pooler first. */
export function isConnectionConfigError(error: unknown): boolean {
  const { state, message } = clues(error);
  if (OPERATORS_STATES.test(state) || POOLER_MESSAGE.test(message)) return true;
  return wasRefused(error) && !isPassing(error);
}

/** Throws the error, as {@link Misconfigured} if an operator must change the address or the rights of the role. */
export function throwAsMisconfigured(error: unknown, setting = "DATABASE_URL"): never {
  if (error instanceof KitError || !isConnectionConfigError(error)) throw error;
  const words = `${setting}: the database answers: ${messageOf(error)}`;
  const where = `TLS: sslmode in ${setting}, and DATABASE_CA. A pooler: docs/scale.md, "Connection poolers".`;
  throw new Misconfigured(`${words}. ${where}`, { cause: error });
}

/** Whether another transaction was in the way. Other rows of the same statement may be free. */
export function isConflict(error: unknown): boolean {
  const { state, code } = clues(error);
  return CONFLICT_STATES.test(state) || code === "P2034";
}

/** Whether the error may concern one statement only (a locked row, a slow statement), and not the whole database. */
export const mayBeOfOneStatement = (error: unknown) => isConflict(error) || clues(error).state === "57014";

export const isDataError = (error: unknown) => DATA_STATES.test(clues(error).state);

/** Disk full, memory, too many sessions (53), I/O (58), corruption (XX), read-only (25006), a missing right (42501). */
const REFUSING_STATES = /^(53...|58...|XX00[12]|25006|42501)$/;

/** The SQLSTATE of an error that the database's own condition caused, not the data; `null` for other errors. */
export function refusingState(error: unknown): string | null {
  const { state } = clues(error);
  return REFUSING_STATES.test(state) ? state : null;
}

/** Whether the connection may be used again after this error. `false` in doubt: a new connection is cheap. */
export function leavesConnectionSound(error: unknown): boolean {
  return clues(error).state !== "" && !isTransient(error);
}

/** PostgreSQL's errors have a SQLSTATE and a `severity`, which Prisma puts into `meta`; other errors have a `code`. */
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

/** The database did not answer in time. The last attempt may still have been committed. */
export class DatabaseUnavailable extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("database_unavailable", message, options);
  }
}

/** Whether the retries have failed, or, without retries, the driver's error means that the database is unreachable. */
export function isDatabaseUnreachable(error: unknown): boolean {
  // Other errors of the kit, such as a failed call to the platform, say nothing about the database.
  return error instanceof KitError ? error instanceof DatabaseUnavailable : isTransient(error);
}

/** The most requests of the platform that wait for the database. Further requests fail immediately. */
const MOST_REQUESTS = 100;
let requestsWaiting = 0;

type Patience = {
  upToMs?: number;
  /** The work is for a request of the platform; the number of waiting requests is limited. */
  isRequest?: boolean;
  /** An attempt that runs at the deadline gets this much longer: a second unless given. */
  graceMs?: number;
  /** Whether a retry may succeed after this error; `isTransient` unless given. */
  isCurable?: (error: unknown) => boolean;
};

/**
 * Retries `work` while the database is unreachable: it may restart, fail over or have a short network fault. `work` must
 * be idempotent, because the outcome is unknown after a lost connection. `isTooLate` returns whether the caller was
 * answered or refused. Errors that a retry cannot cure are thrown as they are.
 *
 * @throws DatabaseUnavailable after `upToMs` (8 s unless given; up to `graceMs` later), or at once if too many requests
 * wait
 */
export async function retryWhileUnreachable<T>(
  work: (isTooLate: () => boolean) => Promise<T>,
  { upToMs = 8000, graceMs = 1000, isRequest = false, isCurable = isTransient }: Patience = {},
): Promise<T> {
  const until = performance.now() + upToMs;
  let isAnswered = false;
  // By the clock and not by a timer: timers run late after the process was suspended.
  const isTooLate = () => isAnswered || performance.now() >= until;
  let trouble: unknown;
  let isWaiting = false;
  try {
    for (let tries = 1; ; tries++) {
      try {
        const ms = until - performance.now() + graceMs;
        return await within(ms, work(isTooLate), () => unavailable(trouble));
      } catch (error) {
        if (!isCurable(error)) throw error;
        trouble = error;
        // Random, so that callers that failed together do not retry together.
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

/** Runs idempotent work for a request, and retries it as long as the request may wait. */
export type Persist = <Stored>(work: (isTooLate: () => boolean) => Promise<Stored>) => Promise<Stored>;

/** How long each piece of work may wait even when the vendor's function has used up the time of the request. */
const LEAST_MS = 2_000;

/**
 * Returns a function that runs the database work of a request and retries it while the database is unreachable, because the
 * platform takes every error as final. The deadline counts from the arrival of the request, which may be earlier than
 * the start of its handler.
 */
export function requestDeadline(receivedAtMs: number, { requestMs }: { requestMs: number }): Persist {
  const until = receivedAtMs + requestMs;
  const leastMs = Math.min(LEAST_MS, requestMs / 4);
  return (work) =>
    retryWhileUnreachable(work, { upToMs: Math.max(until - performance.now(), leastMs), isRequest: true });
}

const PING_EVERY_MS = 1_000;
/** Requests wait as long for the database, so a shorter outage fails no request. */
const ALARM_AFTER_SECONDS = 8;
/** Fewer failed pings in that time mean that this process was suspended. */
const ALARM_AFTER_PINGS = 3;

type Watched = {
  ping(): Promise<void>;
  log: Record<"warn" | "error", (members: object, message: string) => void>;
};

/**
 * Logs the beginning of an outage of the database, an alarm if it lasts for 8 seconds, and its end. `noticed` is called
 * with every error of the database. If the error may be an outage, the database is pinged every second until it answers.
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
      if (failed === 1) log.warn({ reason }, "The database is unreachable; retrying every second");
      if (!isAlarmed && failed >= ALARM_AFTER_PINGS && seconds >= ALARM_AFTER_SECONDS) {
        isAlarmed = true;
        log.error(
          { alarm: "database_unreachable", reason, seconds },
          `The database has been unreachable for ${seconds} s; still retrying`,
        );
      }
      await sleep(PING_EVERY_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
  }

  return {
    noticed(error: unknown): void {
      // No watch for a locked row or a slow statement: if such statements use all connections, a ping would fail too.
      if (watch || closing.signal.aborted || mayBeOfOneStatement(error) || !isTransient(error)) return;
      watch = untilItAnswers().finally(() => (watch = null));
    },
    /** Ends the watch. Resolves when no ping is running. */
    async close(): Promise<void> {
      closing.abort();
      await watch;
    },
  };
}
