import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { Request, Response } from "express";
import { Refusal } from "../errors.ts";

/** Whether the request had right credentials of HTTP Basic. */
export const isAuthenticated = (response: ServerResponse): boolean =>
  Boolean((response as Response).locals?.["isAuthenticated"]);

/** The client's address, as far as `TRUST_PROXY` lets it be seen; null when the connection has ended, or none was sent. */
export function clientAddress({ ip = "" }: { ip?: string | undefined }): string | null {
  const address = ip.replace(/^::ffff:(?=[\d.]+$)|(?<=^[\d.]+):\d+$/g, "");
  return isIP(address) ? address : null;
}

/** The last handler of a route: refuses every other method. */
export function methodNotAllowed(allowed: string) {
  return (_request: Request, response: Response): void => {
    response.setHeader("Allow", allowed);
    throw new Refusal(`Only ${allowed} can be used here.`, { id: "method_not_allowed", status: 405 });
  };
}

/** Sends `100 Continue` to a client that waits for it: after it is authenticated, before anything reads the body. */
export function askForBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect?.toLowerCase() !== "100-continue") return;
  response.writeContinue();
  // So that a second call does not send it again.
  delete headers.expect;
}

/** Refuses what Node would refuse itself, which would overtake the requests before it on the same connection. */
export function refuseUnfit({ headers, httpVersion }: IncomingMessage, response: ServerResponse): void {
  const { host, expect = "100-continue" } = headers;
  if (httpVersion !== "1.1" || (host !== undefined && expect.toLowerCase() === "100-continue")) return;
  response.setHeader("Connection", "close");
  throw host === undefined
    ? new Refusal("The request needs a Host header.", { id: "bad_request", status: 400 })
    : new Refusal("Expect can only be 100-continue.", { id: "expectation_failed", status: 417 });
}

/** No body is decompressed here. */
export function refuseCompressed({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return;
  throw new Refusal("The body must not be compressed.", { id: "unsupported_media_type", status: 415 });
}

/** How the types of errors of Express's parsers begin. */
const OF_PARSER = /^(charset|encoding|entity|parameters|querystring|request|stream)\./;

/** One of Express's parsers threw it. Their messages quote the body, so they are neither sent nor logged. */
export function isUnreadableBody(error: unknown): boolean {
  const { status, type } = error as { status?: unknown; type?: unknown };
  return typeof type === "string" && OF_PARSER.test(type) && typeof status === "number" && status < 500;
}
