import type { Request } from "express";

/** The address of the client, as far as `TRUST_PROXY` lets it be seen; null when the connection has ended. */
export function clientAddress({ ip }: Request): string | null {
  return ip?.replace(/^::ffff:(?=[\d.]+$)/, "") ?? null;
}
