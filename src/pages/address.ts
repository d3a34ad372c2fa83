import type { Request } from "express";

/** The address of this service as a browser sees it. */
export interface Address {
  origin: string;
  /** The path prefix under which a proxy serves us; empty if there is none. */
  base: string;
  isSecure: boolean;
}

export type AddressOf = (request: Request) => Address;

/**
 * Takes the address from `PUBLIC_URL`, or else from the request, which trusts as many proxies as `TRUST_PROXY` says.
 */
export function createAddressOf(publicUrl: string | undefined): AddressOf {
  if (publicUrl === undefined) {
    return ({ protocol, host }) => ({
      origin: `${protocol}://${host}`,
      base: "",
      isSecure: protocol === "https",
    });
  }
  const { origin, pathname, protocol } = new URL(publicUrl);
  const address = { origin, base: pathname.replace(/\/+$/, ""), isSecure: protocol === "https:" };
  return () => address;
}
