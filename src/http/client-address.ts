import { isIP } from "node:net";
import type { Request } from "express";

/** The address of the client, as far as `TRUST_PROXY` lets it be seen; null when the connection has ended, or it is none. */
export function clientAddress({ ip = "" }: Request): string | null {
  const address = ip.replace(/^::ffff:(?=[\d.]+$)|(?<=^[\d.]+):\d+$/g, "");
  return isIP(address) ? address : null;
}
