import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { Request, Response } from "express";
import { KitError, Refusal } from "../errors.ts";

// What the routes of all parts ask of a request: by whom, from where, with which body.

const accepted = new WeakSet<object>();

/** Notes that a request has right credentials: it is no stranger's. */
export function accept(request: IncomingMessage): void {
  accepted.add(request);
}

/** Whether a request has right credentials. */
export function isAccepted(request: IncomingMessage): boolean {
  return accepted.has(request);
}

/**
 * Leaves of X-Forwarded-Proto and -Host what the outermost of so many trusted proxies said: of several values, which may
 * begin with the client's own, Express takes the first.
 */
export function leaveTrusted({ headers }: IncomingMessage, proxies: number): void {
  for (const name of ["x-forwarded-proto", "x-forwarded-host"] as const) {
    const values = (headers[name] as string | undefined)?.split(",");
    if (values && values.length > 1) headers[name] = values.slice(-Math.max(proxies, 1))[0]!.trim();
  }
}

/** The address of the client, as far as `TRUST_PROXY` lets it be seen; null when the connection has ended, or it is none. */
export function clientAddress({ ip = "" }: Request): string | null {
  const address = ip.replace(/^::ffff:(?=[\d.]+$)|(?<=^[\d.]+):\d+$/g, "");
  return isIP(address) ? address : null;
}

/** The last handler of a route: refuses every other method with a 405, in JSON like every error. */
export function methodNotAllowed(allowed: string) {
  return (_request: Request, response: Response): void => {
    response.setHeader("Allow", allowed);
    throw new Refusal(`Only ${allowed} can be used here.`, { id: "method_not_allowed", status: 405 });
  };
}

/**
 * Asks a client that sent `Expect: 100-continue` for its body. To be called once the caller is authenticated, and
 * before anything reads the body: without it such a client waits until the server cuts it off.
 */
export function askForBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect?.toLowerCase() !== "100-continue") return;
  response.writeContinue();
  // So that a second call does not ask again.
  delete headers.expect;
}

/** Throws a 415 for a compressed body, before any decoder sees it: what strangers send is not unpacked here. */
export function refuseCompressed({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return;
  throw new Refusal("The body must not be compressed.", { id: "unsupported_media_type", status: 415 });
}

/**
 * Whether the error says that a body cannot be read: one of Express's parsers threw it. Their messages quote the body,
 * so they are neither sent nor logged.
 */
export function isUnreadableBody(error: unknown): boolean {
  const { status } = error as { status?: unknown };
  return !(error instanceof KitError) && typeof status === "number" && status >= 400 && status < 500;
}
