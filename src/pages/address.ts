import type { Request } from "express";

/** Where a browser sees us. */
export interface Address {
  origin: string;
  /** What stands before our paths, if a proxy serves us below one; empty otherwise. */
  base: string;
  isSecure: boolean;
}

export type AddressOf = (request: Request) => Address;

/** `PUBLIC_URL`, or what the request says; that honours as many proxies as `TRUST_PROXY` counts. */
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
