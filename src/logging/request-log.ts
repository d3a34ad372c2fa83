import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request } from "express";
import { pinoHttp, type HttpLogger } from "pino-http";
import { isAccepted, clientAddress } from "../http/requests.ts";
import type { Log } from "./log.ts";
import { createLimit } from "./repeats.ts";

/**
 * Logs one line for each request when its answer has gone out, or its connection has ended before that. The line has no
 * headers, query or body: a few members cost little and leak nothing. Sets `request.id`, the request's id in the log
 * and in its answer (app.ts).
 */
export function requestLog(
  log: Log,
  refusedSample: RefusedSample,
): HttpLogger<IncomingMessage, ServerResponse> {
  return pinoHttp({
    logger: log,
    genReqId: idOf,
    autoLogging: { ignore: ({ url }) => url === "/healthz" || url === "/readyz" },
    customAttributeKeys: { responseTime: "ms", err: "error" },
    customSuccessMessage: outcomeOf,
    customErrorMessage: outcomeOf,
    customLogLevel(request, response, error) {
      const status = statusOf(response);
      if (isRefused(response) && !refusedSample.isWritten(request, kindOf(request, status))) return "silent";
      if (error || (status ?? 0) >= 500) return "error";
      return status === null ? "warn" : "info";
    },
    customSuccessObject: withAddress,
    customErrorObject: (request, response, _error, line: object) => withAddress(request, response, line),
    serializers: {
      req: ({ id, method, url = "" }: IncomingMessage) => ({ id, method, path: pathOf(url) }),
      res: (response: ServerResponse) => ({ status: statusOf(response) }),
    },
    // Otherwise each request and answer is copied first, with all headers and addresses: a third of a provision's time.
    wrapSerializers: false,
  });
}

function outcomeOf({ method }: IncomingMessage, response: ServerResponse): string {
  const status = statusOf(response);
  return `${method} ${status === null ? "was not answered: the caller went away" : `answered ${status}`}`;
}

/** Those who send no password hide no wrong one. */
function kindOf({ headers }: IncomingMessage, status: number | null): string {
  return status === 401 && headers.authorization ? "wrong_password" : String(status ?? "unanswered");
}

function isRefused(response: ServerResponse): boolean {
  return (statusOf(response) ?? 400) >= 400;
}

/** Says of a refused request whence it came. */
function withAddress(request: IncomingMessage, response: ServerResponse, line: object): object {
  return isRefused(response) ? { ...line, address: clientAddress(request as Request) } : line;
}

/** Null if the connection ended before anything was sent: Node's `statusCode` is 200 from the beginning. */
function statusOf({ headersSent, statusCode }: ServerResponse): number | null {
  return headersSent ? statusCode : null;
}

/** The caller's own id of the request, if it gave one that can stand in a log. */
function idOf({ headers }: IncomingMessage): string {
  const given = headers["request-id"] ?? headers["x-request-id"];
  return typeof given === "string" && /^[\w-]{8,64}$/.test(given) ? given : randomUUID();
}

function pathOf(url: string): string {
  return url.split("?", 1)[0]!.slice(0, 200);
}

/** This many refused requests of a kind in each window are logged; the others are only counted. */
const MOST_LINES = 20;
const WINDOW_MS = 60_000;

export interface RefusedSample {
  /**
   * Whether a refused request is logged; always, if it has right credentials. The first call decides, so either all
   * lines about a request are logged or none. Kinds, such as the status, are counted apart: thousands of requests for
   * what is not there hide no wrong password.
   */
  isWritten(request: object, kind?: string | number): boolean;
}

/** Keeps strangers whose requests are refused by the thousand from filling the log. */
export function createRefusedSample(log: Log): RefusedSample {
  const decided = new WeakMap<object, boolean>();
  const limit = createLimit<null>(MOST_LINES, WINDOW_MS, (leftOut, _, kind) =>
    log.info({ leftOut, kind }, "Refused requests were left out of the log"),
  );
  return {
    isWritten(request, kind = "refused") {
      if (isAccepted(request)) return true;
      const isWritten = decided.get(request) ?? limit.passes(String(kind), null);
      decided.set(request, isWritten);
      return isWritten;
    },
  };
}
