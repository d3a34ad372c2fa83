import http, { type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { Express, Response } from "express";

/** Our subdomains may belong to others, so the rule is not extended to them. */
const OF_EVERY_ANSWER = {
  "Strict-Transport-Security": "max-age=31536000",
  "X-Content-Type-Options": "nosniff",
};

/**
 * Makes every answer of an app carry the id of its request (`request.id`, see logging/request-log.ts) as `Request-Id`,
 * and the headers that every answer has. A request that Node or the router refuses before any of our code has no id.
 *
 * The header is added as the head is written. Were it set before, Node would take those given to `writeHead` one by one
 * through its checks and merge them, which takes a twentieth of a provision's time.
 */
export function answerWithRequestId(app: Express): void {
  const writeHead = http.ServerResponse.prototype.writeHead as (...all: unknown[]) => ServerResponse;
  app.response.writeHead = function (this: Response, status: number, ...rest: unknown[]) {
    const { id } = this.req as { id?: string };
    const [headers] = rest;
    const ours = { ...OF_EVERY_ANSWER, ...(id !== undefined && { "Request-Id": id }) };
    if (rest.length > 1 || Array.isArray(headers) || typeof headers === "string") {
      for (const [name, value] of Object.entries(ours)) this.setHeader(name, value);
      return writeHead.call(this, status, ...rest);
    }
    return writeHead.call(this, status, { ...ours, ...(headers as OutgoingHttpHeaders) });
  } as Response["writeHead"];
}
