import { inspect } from "node:util";
import { redact, redactorOf, type Secret } from "./secret.ts";

/** `id`: a stable word for programs; `message`: a sentence for people. No enumerable member may contain a secret. */
export class KitError extends Error {
  readonly id: string;

  constructor(id: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.id = id;
  }
}

/**
 * A definite refusal for the platform, thrown by a route or by the vendor's service. The platform shows `message` to its
 * customer, and a provision fails for good (assumed, section 1). A status outside 400 to 599 becomes 422.
 */
export class Refusal extends KitError {
  readonly status: number;

  constructor(
    message: string,
    { id = "refused", status = 422, cause }: { id?: string; status?: number; cause?: unknown } = {},
  ) {
    super(typeof id === "string" ? id : "refused", message, { cause });
    this.status = Number.isInteger(status) && status >= 400 && status <= 599 ? status : 422;
  }
}

/** The process cannot start because of its settings or surroundings. It ends with exit code 78. */
export class Misconfigured extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("misconfigured", message, options);
  }
}

export function errorIdOf(error: unknown): string {
  return error instanceof KitError ? error.id : "internal_error";
}

const MOST_CHARACTERS = 500;

/** The beginning of a foreign text in a form that PostgreSQL stores: without NUL and without half a character. */
export function storable(text: string): string {
  return text.replaceAll("\0", "").slice(0, MOST_CHARACTERS).toWellFormed();
}

/** The meaning of error codes that do not name their cause. */
const IN_WORDS: Readonly<Record<string, string>> = {
  EMFILE: "this process has no free file descriptors",
  ENFILE: "this machine has no free file descriptors",
  // The error of glibc's resolver when it cannot open a file.
  "getaddrinfo EBUSY": "the name cannot be resolved, as when no file descriptor is free",
  "connect EADDRNOTAVAIL": "this machine has no free port, or no address, to connect from",
};

export function isExhausted(error: unknown): boolean {
  return ["EMFILE", "ENFILE"].includes((Object(error) as NodeJS.ErrnoException).code ?? "");
}

/** The error's message, preceded by words if it has only a code. */
export function inWords(error: Error): string {
  const { message, code = "", syscall } = error as NodeJS.ErrnoException;
  const words = IN_WORDS[code] ?? IN_WORDS[`${syscall} ${code}`];
  return words && message ? `${words} (${message})` : message;
}

const PRISMAS_HEAD = /^\s*Invalid `prisma\..*` invocation:\s*/;

/** The message of any thrown value, without the secrets that it may quote. Never throws. */
export function messageOf(error: unknown): string {
  try {
    if (error === undefined || error === null) return `${error} was thrown, and no error.`;
    if (!(error instanceof Error)) return String(error);
    // An error of a connection that was tried at several addresses has no message of its own.
    const { errors = [], code } = error as Error & { errors?: unknown[]; code?: string };
    return (
      withoutQuoted(error)(inWords(error).replace(PRISMAS_HEAD, "")) ||
      errors.map(messageOf).join("; ") ||
      (code ?? error.name)
    );
  } catch {
    return "Something was thrown that cannot be read.";
  }
}

const quotedBy = new WeakMap<object, readonly string[]>();
/** The most secrets that are noted for one error. Calls may share an error, such as that of one connection. */
const ENOUGH_SECRETS = 50;

/**
 * Notes which secrets the text of a foreign error may quote, so that the log and `messageOf` remove them. Returns the error,
 * or for a thrown value that is no error its text without the secrets.
 */
export function mayQuote(thrown: unknown, secrets: readonly Secret[]): unknown {
  const values = secrets.map((each) => each.reveal());
  if (thrown === undefined || thrown === null) return thrown;
  if (!(thrown instanceof Error))
    return redact(typeof thrown === "string" ? thrown : inspect(thrown), values);
  const noted = quotedBy.get(thrown) ?? [];
  if (noted.length < ENOUGH_SECRETS) quotedBy.set(thrown, [...new Set([...noted, ...values])]);
  return thrown;
}

/** A function that removes from a text the secrets that the error, or one of its causes, may quote. */
export function withoutQuoted(error: Error): (text: string) => string {
  const secrets = chainOf(error).flatMap((each) => quotedBy.get(each) ?? []);
  return redactorOf(secrets);
}

const DEEPEST_CAUSE = 8;

/** The error and its causes. */
export function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  try {
    // Some libraries' errors have a function as their cause. A getter may throw.
    for (let each = error; each instanceof Error && chain.length < DEEPEST_CAUSE;) {
      chain.push(each);
      each = typeof each.cause === "function" ? (each.cause.call(each) as unknown) : each.cause;
    }
  } catch {
    // The causes so far are all that can be read.
  }
  return chain;
}
