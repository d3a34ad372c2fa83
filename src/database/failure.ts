import { messageOf } from "../errors.ts";

/**
 * What went wrong, read from an error of the driver, of Node or of Prisma. PostgreSQL's own errors carry a SQLSTATE
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html), Prisma hides it in `meta`; a lost connection is
 * mostly a plain `Error`.
 */

/** Connection (08), resources (53), a lock (55P03), cancelled (57014), shut down (57P…), idle too long, read-only. */
const PASSING_STATES = /^(08|53|55P03|57014|57P0[1235]|25006|25P03)/;
const CONFLICT_STATES = /^(40001|40P01)/;
/** A value that does not fit (22), breaks a constraint (23), or is more than PostgreSQL can hold in one place (54). */
const DATA_STATES = /^(22|23|54)/;

/** Who we are (28), the name of the database (3D), or a right that is missing. */
const ADDRESS_STATES = /^(28|3D|42501)/;
/** The same, said to whoever connects; and, ending the connection, no right to connect, or nobody may for now. */
const REFUSED_STATES = /^(28|3D)/;
const REFUSED_IF_FATAL = /^(42501|55000)/;
const TLS_CODES = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|ERR_TLS_|ERR_SSL_)/;
const TLS_MESSAGES = /server does not support SSL connections/;

const PASSING_PRISMA_CODES = new Set(["P1001", "P1002", "P1008", "P1017", "P2024", "P2037"]);
const PASSING_NODE_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|ETIMEDOUT|EPIPE|EPROTO|ENOTFOUND|EAI_\w+|E(HOST|NET)(UNREACH|DOWN))$/;
/** The embedded database's socket is not there, or has too many at its door. */
const PASSING_AT_CONNECT = /^(ENOENT|EAGAIN)$/;
const PASSING_MESSAGES =
  /Connection terminated|Connection ended|timeout exceeded when trying to connect|Query read timeout|not queryable|Client was closed|Server has closed the connection|error establishing an SSL connection|cached plan must not change result type/;

/**
 * Is another try worth it, soon? While we run, that is also so where the database does not let us in: it did before, and
 * somebody may be changing a password, or putting it back from a backup. A start asks {@link isFaultOfAddress} first.
 */
export function isPassing(error: unknown): boolean {
  const { state, code, message, syscall } = clues(error);
  if (isConflict(error) || isRefusedEntry(error)) return true;
  if (state) return PASSING_STATES.test(state) || (state === "0A000" && PASSING_MESSAGES.test(message));
  if (code === "P2028") return /Unable to start a transaction/.test(message);
  if (PASSING_PRISMA_CODES.has(code)) return true;
  if (PASSING_NODE_CODES.test(code) || (syscall === "connect" && PASSING_AT_CONNECT.test(code))) return true;
  return PASSING_MESSAGES.test(message);
}

/** A deadlock or a serialization failure: PostgreSQL chose one of two that stood in each other's way. */
export function isConflict(error: unknown): boolean {
  const { state, code } = clues(error);
  return CONFLICT_STATES.test(state) || code === "P2034";
}

/** Did somebody hold a row for longer than we wait? Other rows of the same statement may be free. */
export function isLocked(error: unknown): boolean {
  return clues(error).state === "55P03";
}

/**
 * Is it the address of the database, or what it offers us (a name, a password, a right, TLS), so that somebody must change
 * something first?
 */
export function isFaultOfAddress(error: unknown): boolean {
  const { state } = clues(error);
  return state ? ADDRESS_STATES.test(state) : isFaultOfTls(error);
}

/** Is it TLS: its certificate, or that there is none? */
export function isFaultOfTls(error: unknown): boolean {
  const { state, code, message } = clues(error);
  return !state && (TLS_CODES.test(code) || TLS_MESSAGES.test(message));
}

/** Did the database, or what we ask of its TLS, keep us from connecting? Nothing was done then. */
export function isRefusedEntry(error: unknown): boolean {
  const { state, isFatal } = clues(error);
  if (!state) return isFaultOfTls(error);
  return REFUSED_STATES.test(state) || (isFatal && REFUSED_IF_FATAL.test(state));
}

/** What a refused entry says, for whoever can mend it. */
export function refusalInWords(error: unknown): string {
  return `DATABASE_URL: the database says: ${messageOf(error)}`;
}

/** Does the server, or our role on it, allow no further connection? */
export function isOutOfConnections(error: unknown): boolean {
  return clues(error).state === "53300";
}

/** Has the server no room left on its disk? */
export function isDiskFull(error: unknown): boolean {
  return clues(error).state === "53100";
}

/** Is it more than a setting of the server's allows (`temp_file_limit`)? */
export function isOverLimit(error: unknown): boolean {
  return clues(error).state === "53400";
}

/** Is it the values' own fault, so that the same values will fail again, and others might not? */
export function isFaultOfData(error: unknown): boolean {
  return DATA_STATES.test(clues(error).state);
}

/** After this error, may the connection serve others? In doubt, no: opening another one is cheap. */
export function leavesConnectionSound(error: unknown): boolean {
  return clues(error).state !== "" && !isPassing(error);
}

type Clues = { state: string; code: string; message: string; syscall: string; isFatal: boolean };

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

/** The members that tell a PostgreSQL error (`severity`), a Node error (`syscall`) and Prisma's (`meta`, `cause`) apart. */
type DriverError = {
  message: string;
  code: string;
  severity: string;
  syscall: string;
  cause: { originalCode?: string };
  meta: { driverAdapterError?: { message?: string; cause?: { originalCode?: string; severity?: string } } };
};
