import { messageOf } from "../errors.ts";

// Classifies errors of the driver, of Node and of Prisma. The states are PostgreSQL's SQLSTATEs:
// https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Connection (08), resources (53), a lock (55P03), cancelled (57014), shut down (57P…), too long (25P…), read-only. */
const PASSING_STATES = /^(08|53|55P03|57014|57P0[1235]|25006|25P0[34])/;
const PASSING_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|ETIMEDOUT|EPIPE|EPROTO|ENOTFOUND|EAI_\w+|E(HOST|NET)(UNREACH|DOWN)|P10(01|02|08|17)|P20(24|28|37))$/;
const PASSING_MESSAGES =
  /Connection (terminated|ended)|Query read timeout|not queryable|has closed the connection/;

const CONFLICT_STATES = /^(40001|40P01)/;
/** A value that does not fit (22), breaks a constraint (23), or is more than PostgreSQL can hold in one place (54). */
const DATA_STATES = /^(22|23|54)/;

/** Wrong user or password (28), unknown database (3D), or a right that is missing (42501). */
const ADDRESS_STATES = /^(28|3D|42501)/;
const TLS_CODES = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|ERR_TLS_|ERR_SSL_)/;
const TLS_MESSAGES = /server does not support SSL connections/;
/** The driver's own, where the server asks for a password and the address has none. */
const NO_PASSWORD = /client password must be a (non-empty )?string/;
/** A named statement is there already, or is not: a pooler lets clients take turns on its sessions. */
const SHARED_SESSION_STATES = /^(42P05|26000)/;
/** PgBouncer refuses what each of our connections begins with, unless it is told to ignore it. */
const POOLER_MESSAGE = /unsupported startup parameter/;

const beforeAnyStatement = new WeakSet<object>();

/** Notes that this error kept us from connecting: no statement was run, so another try does no harm. */
export function noteRefusal(error: unknown): void {
  if (typeof error === "object" && error !== null) beforeAnyStatement.add(error);
}

/**
 * Is another try soon worth it? In a running service always if no statement was run: the database accepted us before,
 * and an operator may be changing the password or restoring a backup. Start-up checks {@link isConnectionConfigError}
 * first.
 */
export function isTransient(error: unknown): boolean {
  if (beforeAnyStatement.has(Object(error) as object) || isConflict(error)) return true;
  const { state, code, message, routine } = clues(error);
  // The plan of a named statement whose table has changed; the connection is closed, and with it the plan.
  if (state) return PASSING_STATES.test(state) || routine === "RevalidateCachedQuery";
  return PASSING_CODES.test(code) || PASSING_MESSAGES.test(message);
}

/** A deadlock or a serialization failure: PostgreSQL ended one of two transactions that stood in each other's way. */
export function isConflict(error: unknown): boolean {
  const { state, code } = clues(error);
  return CONFLICT_STATES.test(state) || code === "P2034";
}

/** Did another session hold a lock for longer than we wait? Other rows of the same statement may be free. */
export function isLockTimeout(error: unknown): boolean {
  return clues(error).state === "55P03";
}

/** Did the server end a statement that waited for a lock, or took, longer than we allow? Other statements may work. */
export function isPatienceOver(error: unknown): boolean {
  return ["55P03", "57014"].includes(clues(error).state);
}

/** Are the values at fault, so that the same values will fail again, and others may not? */
export function isDataError(error: unknown): boolean {
  return DATA_STATES.test(clues(error).state);
}

/** May the connection serve others after this error? In doubt, no: opening another one is cheap. */
export function leavesConnectionSound(error: unknown): boolean {
  return clues(error).state !== "" && !isTransient(error);
}

/**
 * Is the database's address at fault, or what it offers us (a name, a password, a right, TLS), so that an operator must
 * change something first?
 */
export function isConnectionConfigError(error: unknown): boolean {
  const { state, message } = clues(error);
  return (
    ADDRESS_STATES.test(state) || NO_PASSWORD.test(message) || isFaultOfTls(error) || isFaultOfPooler(error)
  );
}

export function configErrorInWords(error: unknown): string {
  const { state, message } = clues(error);
  if (NO_PASSWORD.test(message))
    return "DATABASE_URL: the database asks for a password, and the address has none.";
  const words = `DATABASE_URL: the database says: ${messageOf(error)}`;
  if (isFaultOfPooler(error))
    return `${words}. A connection pooler stands there; how to set it: docs/scale.md, "Connection poolers".`;
  if (isFaultOfTls(error))
    return `${words}. See sslmode in DATABASE_URL, and DATABASE_CA: the certificate to trust, or no-verify.`;
  if (state === "28000")
    return `${words}. If it lets nobody in without encryption: add sslmode=verify-full to DATABASE_URL.`;
  return words;
}

function isFaultOfPooler(error: unknown): boolean {
  const { state, message } = clues(error);
  return SHARED_SESSION_STATES.test(state) || POOLER_MESSAGE.test(message);
}

/** Is TLS at fault: the server's certificate, or that the server has no TLS? */
function isFaultOfTls(error: unknown): boolean {
  const { state, code, message } = clues(error);
  return !state && (TLS_CODES.test(code) || TLS_MESSAGES.test(message));
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
