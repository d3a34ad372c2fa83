import { withoutQuoted } from "./redact.ts";

/**
 * The base class of the kit's errors: a stable machine word (`id`), a sentence for a person (`message`), the original
 * error in `cause`. No enumerable member may hold a secret.
 */
export class KitError extends Error {
  readonly id: string;

  constructor(id: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.id = id;
  }
}

/**
 * A definite refusal for the platform, thrown by a route or by the vendor's service. The platform shows `message` to
 * its customer; any status that is not 2xx makes a provision fail for good (assumed, section 1).
 */
export class Refusal extends KitError {
  readonly status: number;

  constructor(
    message: string,
    { id = "refused", status = 422, cause }: { id?: string; status?: number; cause?: unknown } = {},
  ) {
    super(id, message, { cause });
    this.status = status;
  }
}

/** Settings, keys or the database's schema make it impossible to start: the process ends with exit code 78. */
export class Misconfigured extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("misconfigured", message, options);
  }
}

/** The machine word of anything thrown, for an error record: `internal_error` where it is none of the kit's errors. */
export function errorIdOf(error: unknown): string {
  return error instanceof KitError ? error.id : "internal_error";
}

/**
 * The message of anything thrown, for a log line or an error record, without the secrets that it may quote. Never throws
 * itself.
 */
export function messageOf(error: unknown): string {
  try {
    if (error === undefined || error === null) return `${error} was thrown, and no error.`;
    if (!(error instanceof Error)) return String(error);
    // An error of a connection that was tried at several addresses has no message of its own.
    const {
      message,
      errors = [],
      code = error.name,
    } = error as Error & { errors?: unknown[]; code?: string };
    return withoutQuoted(error)(message) || errors.map(messageOf).join("; ") || code;
  } catch {
    return "Something was thrown that cannot be read.";
  }
}
