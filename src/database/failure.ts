import { messageOf } from "../errors.ts";

// Classifies errors of the driver, of Node and of Prisma. The states are PostgreSQL's SQLSTATEs:
// https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Connection (08), resources (53), a lock (55P03), cancelled (57014), shut down (57P…), idle too long, read-only. */
const PASSING_STATES = /^(08|53|55P03|57014|57P0[1235]|25006|25P03)/;
const CONFLICT_STATES = /^(40001|40P01)/;
/** A value that does not fit (22), breaks a constraint (23), or is more than PostgreSQL can hold in one place (54). */
const DATA_STATES = /^(22|23|54)/;

/** Wrong user or password (28), unknown database (3D), or a right that is missing (42501). */
const ADDRESS_STATES = /^(28|3D|42501)/;
/**
 * When connecting: wrong user, password or database; and, if fatal, no right to connect, or a database closed to all.
 */
const REFUSED_STATES = /^(28|3D)/;
const REFUSED_IF_FATAL = /^(42501|55000)/;
const TLS_CODES = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|ERR_TLS_|ERR_SSL_)/;
/** A named statement that another connection made, or that is not there: the session is another client's too. */
const SHARED_SESSION_STATES = /^(42P05|26000)/;
const POOLER_MESSAGE = /unsupported startup parameter/;
const TLS_MESSAGES = /server does not support SSL connections/;

const PASSING_PRISMA_CODES = new Set(["P1001", "P1002", "P1008", "P1017", "P2024", "P2037"]);
const PASSING_NODE_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|ETIMEDOUT|EPIPE|EPROTO|ENOTFOUND|EAI_\w+|E(HOST|NET)(UNREACH|DOWN))$/;
/** The embedded database's socket does not exist, or too many connections wait to be accepted there. */
const PASSING_AT_CONNECT = /^(ENOENT|EAGAIN)$/;
const PASSING_MESSAGES =
  /Connection terminated|Connection ended|timeout exceeded when trying to connect|Query read timeout|not queryable|Client was closed|Server has closed the connection|error establishing an SSL connection|cached plan must not change result type/;

/**
 * Is another try soon worth it? In a running service also if the database refuses the connection: it accepted it
 * before, and an operator may be changing the password or restoring a backup. Start-up checks
 * {@link isConnectionConfigError} first.
 */
export function isTransient(error: unknown): boolean {
  const { state, code, message, syscall } = clues(error);
  if (isConflict(error) || isRefusedEntry(error)) return true;
  if (state) return PASSING_STATES.test(state) || (state === "0A000" && PASSING_MESSAGES.test(message));
  if (code === "P2028") return /Unable to start a transaction/.test(message);
  if (PASSING_PRISMA_CODES.has(code)) return true;
  if (PASSING_NODE_CODES.test(code) || (syscall === "connect" && PASSING_AT_CONNECT.test(code))) return true;
  return PASSING_MESSAGES.test(message);
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

/**
 * Is the database's address at fault, or what it offers us (a name, a password, a right, TLS), so that an operator must
 * change something first?
 */
export function isConnectionConfigError(error: unknown): boolean {
  const { state } = clues(error);
  if (!state) return isFaultOfTls(error);
  return ADDRESS_STATES.test(state) || isSharedSession(error) || isRefusedByPooler(error);
}

/** Did a connection pooler refuse us for a setting that each of our connections begins with? */
export function isRefusedByPooler(error: unknown): boolean {
  return POOLER_MESSAGE.test(clues(error).message);
}

/**
 * Do named statements of ours get lost or clash? Each is made once for each connection, so another client uses the
 * connection's session too.
 */
export function isSharedSession(error: unknown): boolean {
  return SHARED_SESSION_STATES.test(clues(error).state);
}

/** Is TLS at fault: the server's certificate, or that the server has no TLS? */
export function isFaultOfTls(error: unknown): boolean {
  const { state, code, message } = clues(error);
  return !state && (TLS_CODES.test(code) || TLS_MESSAGES.test(message));
}

/** Did the database, or our demands on its TLS, keep us from connecting? Then no statement was run. */
export function isRefusedEntry(error: unknown): boolean {
  const { state, isFatal } = clues(error);
  if (!state) return isFaultOfTls(error);
  if (isRefusedByPooler(error)) return true;
  return REFUSED_STATES.test(state) || (isFatal && REFUSED_IF_FATAL.test(state));
}

/** The reason of a refused connection, for the operator who can change it. */
export function refusalInWords(error: unknown): string {
  const who = isRefusedByPooler(error) ? "a connection pooler" : "the database";
  return `DATABASE_URL: ${who} says: ${messageOf(error)}`;
}

/** Does the server, or our role on it, allow no further connection? */
export function isOutOfConnections(error: unknown): boolean {
  return clues(error).state === "53300";
}

/** Has the server no room left on its disk? */
export function isDiskFull(error: unknown): boolean {
  return clues(error).state === "53100";
}

/** Did a statement need more than a setting of the server allows (`temp_file_limit`)? */
export function isOverLimit(error: unknown): boolean {
  return clues(error).state === "53400";
}

/** Are the values at fault, so that the same values will fail again, and others may not? */
export function isDataError(error: unknown): boolean {
  return DATA_STATES.test(clues(error).state);
}

/** May the connection serve others after this error? In doubt, no: opening another one is cheap. */
export function leavesConnectionSound(error: unknown): boolean {
  return clues(error).state !== "" && !isTransient(error);
}

type Clues = { state: string; code: string; message: string; syscall: string; isFatal: boolean };

/**
 * What an error tells. PostgreSQL's own errors carry a SQLSTATE, which Prisma hides in `meta`; a lost connection is
 * mostly a plain `Error`.
 */
function clues(error: unknown): Clues {
  if (typeof error !== "object" || error === null)
    return { state: "", code: "", message: "", syscall: "", isFatal: false };
  const { message = "", code = "", severity, syscall = "", meta, cause } = error as Partial<DriverError>;
  const prisma = meta?.driverAdapterError;
  return {
    state: prisma?.cause?.originalCode ?? cause?.originalCode ?? (severity === undefined ? "" : code),
    code,
    message: `${message} ${prisma?.message ?? ""}`,
    syscall,
    isFatal: (prisma?.cause?.severity ?? severity) === "FATAL",
  };
}

/** The members that tell PostgreSQL's errors (`severity`), Node's (`syscall`) and Prisma's (`meta`, `cause`) apart. */
type DriverError = {
  message: string;
  code: string;
  severity: string;
  syscall: string;
  cause: { originalCode?: string };
  meta: { driverAdapterError?: { message?: string; cause?: { originalCode?: string; severity?: string } } };
};
