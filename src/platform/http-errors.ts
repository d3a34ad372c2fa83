import { KitError } from "../errors.ts";

/** Which call an error is about. Only the method, the origin and the path are ever shown. */
export interface CallName {
  method: string;
  url: URL;
}

/**
 * A call that brought no usable answer. `mayHaveArrived` is false only where the other side certainly never saw the
 * request, so that repeating it can do nothing twice.
 */
export class TransportError extends KitError {
  readonly mayHaveArrived: boolean;

  constructor(id: string, message: string, mayHaveArrived: boolean, options?: ErrorOptions) {
    super(id, message, options);
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** The whole call, from the connection to the last byte, took longer than it may. */
export class TimedOut extends TransportError {
  constructor(call: CallName, timeoutMs: number) {
    super("timed_out", `${shown(call)} had no complete answer after ${timeoutMs} ms`, true);
  }
}

/** No connection, or one that broke before the answer was complete. */
export class ConnectionFailed extends TransportError {
  constructor(call: CallName, reason: string, mayHaveArrived: boolean, cause?: unknown) {
    const where = mayHaveArrived ? "lost its connection" : "could not be sent";
    super("connection_failed", `${shown(call)} ${where}: ${reason}`, mayHaveArrived, { cause });
  }
}

/** The answer was cut off at the cap. Its status is known, its body is not. */
export class AnswerTooLarge extends TransportError {
  readonly status: number;

  constructor(call: CallName, status: number, maxBytes: number) {
    super("answer_too_large", `${shown(call)} answered ${status} with more than ${maxBytes} bytes`, true);
    this.status = status;
  }
}

/** The platform pointed elsewhere. Never followed: a 307 would send the client secret there (assumed, section 3). */
export class RedirectRefused extends TransportError {
  readonly status: number;

  constructor(call: CallName, status: number) {
    super(
      "redirect_refused",
      `${shown(call)} answered with the redirect ${status}, which is not followed`,
      true,
    );
    this.status = status;
  }
}

/**
 * METHOD and address as they may be logged: no user, no query. A path segment that is itself an encoded address (a log
 * drain's) may carry a password, so it is left out too.
 */
export function shown({ method, url }: CallName): string {
  return `${method} ${url.origin}${url.pathname.replace(/[^/]*%3A%2F%2F[^/]*/gi, "…")}`;
}
