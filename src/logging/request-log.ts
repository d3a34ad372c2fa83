import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request } from "express";
import { type HttpLogger, pinoHttp } from "pino-http";
import { clientAddress, isAuthenticated } from "../http/requests.ts";
import { EACH, type Log } from "./log.ts";

/**
 * Logs one line for each request when its answer has gone out, or its connection has ended before that, without headers,
 * query or body. Of requests with right credentials or a session the log takes each, of those of strangers a sample; what
 * these are refused is a warning. Sets `request.id`.
 */
export function requestLog(log: Log): HttpLogger<IncomingMessage, ServerResponse> {
  return pinoHttp({
    logger: log,
    genReqId: idOf,
    autoLogging: { ignore: ({ url = "" }) => /^\/(healthz|readyz)(\?|$)/.test(url) },
    customAttributeKeys: { responseTime: "ms", err: "error" },
    customSuccessMessage: outcomeOf,
    customErrorMessage: outcomeOf,
    customLogLevel(_request, response, error) {
      const status = statusOf(response);
      if (error || (status ?? 0) >= 500) return "error";
      return status === null || (isRefused(response) && !isAuthenticated(response)) ? "warn" : "info";
    },
    customSuccessObject: ofRequest,
    customErrorObject: (request, response, _error, line: object) => ofRequest(request, response, line),
    serializers: {
      req: ({ id, method, url = "" }: IncomingMessage) => {
        return { id, method, path: url.split("?", 1)[0]!.slice(0, 200) };
      },
      // Made by `ofRequest`.
      res: (made: unknown) => made,
    },
    // Otherwise each request and answer is copied first, with all headers and addresses: a third of a provision's time.
    wrapSerializers: false,
  });
}

function outcomeOf({ method, headers }: IncomingMessage, response: ServerResponse): string {
  const status = statusOf(response);
  if (status === null) return `${method} was not answered: the caller went away`;
  // A request without a password has no wrong one.
  const isWrong = status === 401 && headers.authorization;
  return `${method} answered ${status}${isWrong ? " to a wrong password" : ""}`;
}

const isRefused = (response: ServerResponse) => (statusOf(response) ?? 400) >= 400;

/** Says what was answered, and of a refused request the caller's address. */
function ofRequest(request: IncomingMessage, response: ServerResponse, line: object): object {
  const all = Object.assign(line, {
    res: { status: statusOf(response) },
    [EACH]: isAuthenticated(response),
  });
  return isRefused(response) ? Object.assign(all, { address: clientAddress(request as Request) }) : all;
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
