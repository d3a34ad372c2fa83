import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import type { Log } from "./log.ts";

declare module "http" {
  interface IncomingMessage {
    /** Names the request, in the log and in its answer. */
    id: string;
  }
}

/**
 * Writes one line for each request when its answer has gone out or its connection has ended: without headers, query or
 * body, for a few members cost little and leak nothing. Ours, because pino-http makes a logger for every request, and
 * those cost as much as the rest of the answer.
 */
export function requestLog(log: Log): RequestHandler {
  return (request, response, next) => {
    const { method, url } = request;
    const startedAt = performance.now();
    request.id = idOf(request);
    response.setHeader("Request-Id", request.id);
    response.on("error", (error) => log.error({ requestId: request.id, error }, "An answer was not sent"));
    if (url === "/healthz" || url === "/readyz") return next();
    response.on("close", () => {
      const { statusCode: status } = response;
      const about = {
        req: { id: request.id, method, path: pathOf(url) },
        res: { status },
        ms: Math.round(performance.now() - startedAt),
      };
      log[status >= 500 ? "error" : "info"](about, `${method} answered ${status}`);
    });
    next();
  };
}

/** The caller's own id of the request, if it gave one that can stand in a log. */
function idOf({ headers }: IncomingMessage): string {
  const given = headers["request-id"] ?? headers["x-request-id"];
  return typeof given === "string" && /^[\w-]{8,64}$/.test(given) ? given : randomUUID();
}

function pathOf(url: string): string {
  return url.split("?", 1)[0]!.slice(0, 200);
}
