import http, { type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { Express, Response } from "express";

/**
 * Makes every answer of an app carry the id of its request (`request.id`, see logging/request-log.ts) as `Request-Id`. A
 * request that Node or the router refuses before any of our code has none.
 *
 * The header is added as the head is written. Were it set before, Node would take those given to `writeHead` one by one
 * through its checks and merge them, which takes a twentieth of a provision's time.
 */
export function answerWithRequestId(app: Express): void {
  const writeHead = http.ServerResponse.prototype.writeHead as (...all: unknown[]) => ServerResponse;
  app.response.writeHead = function (this: Response, status: number, ...rest: unknown[]) {
    const { id } = this.req as { id?: string };
    const [headers] = rest;
    if (id === undefined) return writeHead.call(this, status, ...rest);
    if (rest.length > 1 || Array.isArray(headers) || typeof headers === "string") {
      this.setHeader("Request-Id", id);
      return writeHead.call(this, status, ...rest);
    }
    return writeHead.call(this, status, { "Request-Id": id, ...(headers as OutgoingHttpHeaders) });
  } as Response["writeHead"];
}
