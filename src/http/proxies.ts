import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Request } from "express";

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
