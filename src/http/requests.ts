import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { Request, Response } from "express";
import { Refusal } from "../errors.ts";

/** Marks that the caller is authenticated, by a password or a session. The log then takes each of its requests. */
export function nowAuthenticated(response: Response): void {
  response.locals["isAuthenticated"] = true;
}

/** Whether the caller is authenticated. A guard of your service may mark it, too: see docs/extend-it.md. */
export const isAuthenticated = (response: ServerResponse): boolean =>
  Boolean((response as Response).locals?.["isAuthenticated"]);

/** The client's address by `TRUST_PROXY`; `null` if the connection has ended or the proxy sent no address. */
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

/** A host with or without a port. RFC 9112, section 3.2, allows to refuse every other `Host`. */
const HOST = /^(\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]+)(:\d*)?$/i;

/**
 * Refuses versions that Node's parser accepts (a line without a version is 0.9), and a missing, repeated or invalid `Host`,
 * from which a proxy and this service might read different hosts. The connection is closed (RFC 9112, section 3.2).
 */
export function refuseMalformed(request: IncomingMessage, response: ServerResponse): void {
  const { httpVersion, headersDistinct } = request;
  const [host, ...others] = headersDistinct["host"] ?? [];
  const isHost = host !== undefined && HOST.test(host) && URL.canParse(`http://${host}`);
  const isMissing = host === undefined && httpVersion === "1.0";
  if (/^1\.[01]$/.test(httpVersion) && (isHost || isMissing) && others.length === 0) return;
  response.setHeader("Connection", "close");
  throw new Refusal("The request is not well formed.", { id: "bad_request", status: 400 });
}

/**
 * Sends `100 Continue` to a client that waits for it, once a handler begins to read the body: a client that is refused before
 * need not send its body. It may send it anyway, so the answer then closes the connection.
 */
export function askForBodyOnceRead(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect === undefined || request.httpVersion === "1.0") return;
  const { _read: read } = request;
  const { writeHead } = response;
  const isAsked = () => request._read === read;
  request._read = (size) => {
    request._read = read;
    // After an answer, Node itself reads and discards the rest of the body.
    if (!response.headersSent) response.writeContinue();
    request._read(size);
  };
  response.writeHead = ((...head: Parameters<typeof writeHead>) => {
    if (!isAsked()) response.setHeader("Connection", "close");
    return writeHead.apply(response, head);
  }) as typeof writeHead;
}

/** Refuses every other `Expect` than `100-continue`. Node's own refusal would overtake the answers to earlier requests. */
export function refuseExpectation({ headers, httpVersion }: IncomingMessage, response: ServerResponse): void {
  const { expect = "100-continue" } = headers;
  if (httpVersion === "1.0" || /(^|\W)100-continue($|\W)/i.test(expect)) return;
  response.setHeader("Connection", "close");
  throw new Refusal("Expect can only be 100-continue.", { id: "expectation_failed", status: 417 });
}

/** Refuses compressed bodies: this service does not decompress. */
export function refuseCompressed({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return;
  throw new Refusal("The body must not be compressed.", { id: "unsupported_media_type", status: 415 });
}

/** The errors of Express's parsers that a caller causes: their types, each with its status. */
const OF_PARSERS: Readonly<Record<string, number>> = {
  "charset.unsupported": 415,
  "encoding.unsupported": 415,
  "entity.parse.failed": 400,
  "entity.too.large": 413,
  "entity.verify.failed": 403,
  "parameters.too.many": 413,
  "querystring.parse.rangeError": 400,
  "request.aborted": 400,
  "request.size.invalid": 400,
};

/**
 * Whether one of Express's parsers, such as those on routes of your service, could not read this request's body. The parser
 * then leaves the member `body` undefined; an error of another origin that has such a type, as of a vendor's own backend,
 * does not. The messages quote the body, so they are neither sent nor logged.
 */
export function isUnreadableBody(error: unknown, request: IncomingMessage): boolean {
  const { status, type } = Object(error) as { status?: unknown; type?: unknown };
  const { "content-length": length = "0", "transfer-encoding": coding } = request.headers;
  const hasFailed =
    "body" in request && request.body === undefined && (coding !== undefined || length !== "0");
  return (
    hasFailed && typeof type === "string" && Object.hasOwn(OF_PARSERS, type) && OF_PARSERS[type] === status
  );
}

/** Whether the address has a `%` that begins no character: Express's router throws then. */
export function isUnreadableAddress({ url = "" }: IncomingMessage): boolean {
  try {
    decodeURIComponent(url.split("?", 1)[0]!);
    return false;
  } catch {
    return true;
  }
}
