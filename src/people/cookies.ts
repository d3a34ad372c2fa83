import { randomBytes } from "node:crypto";
import { parseCookie, stringifySetCookie } from "cookie";
import type { Request, Response } from "express";
import type { AddressOf } from "../pages/pages.tsx";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";

/** One cookie that holds a secret: an id, or something sealed. What is read may be anything that a client made up. */
export interface SecretCookie {
  addressOf: AddressOf;
  name: string;
  path: string;
  maxAgeSeconds: number;
}

export function readCookie(cookie: SecretCookie, request: Request): Secret | null {
  const value = parseCookie(request.headers.cookie ?? "")[placeOf(cookie, request).name];
  return value ? new Secret(value) : null;
}

export function setCookie(cookie: SecretCookie, request: Request, response: Response, value: Secret): void {
  write(cookie, request, response, value.reveal(), cookie.maxAgeSeconds);
}

export function clearCookie(cookie: SecretCookie, request: Request, response: Response): void {
  write(cookie, request, response, "", 0);
}

/**
 * Keeps a browser from collecting so many cookies of one family that its requests exceed the limit on headers (16 kB)
 * and no longer get through: clears those above `most`, in the order in which browsers send them, which is by when each
 * was first set. `family` finds what tells the cookies apart in their names; the one of `kept` stays.
 */
export function makeRoom(
  cookieOf: (key: string) => SecretCookie,
  { family, most, kept }: { family: RegExp; most: number; kept: string },
  request: Request,
  response: Response,
): void {
  const names = Object.keys(parseCookie(request.headers.cookie ?? ""));
  const keys = new Set(names.flatMap((name) => family.exec(name)?.[1] ?? []));
  const others = [...keys].filter((key) => key !== kept && readCookie(cookieOf(key), request));
  for (const key of others.slice(0, 1 - most)) clearCookie(cookieOf(key), request, response);
}

/** HttpOnly and SameSite=Lax: the cookie must be sent when the platform redirects the browser back. */
function write(
  cookie: SecretCookie,
  request: Request,
  response: Response,
  value: string,
  maxAge: number,
): void {
  const place = placeOf(cookie, request);
  response.append(
    "Set-Cookie",
    stringifySetCookie({ ...place, value, maxAge, httpOnly: true, sameSite: "lax" }),
  );
}

/**
 * Behind https also Secure, with the `__Host-` prefix: a browser accepts such a cookie from this exact host only, so no
 * sibling domain can plant one. The prefix requires the path `/`; without https the cookie is limited to `path`.
 */
function placeOf({ addressOf, name, path }: SecretCookie, request: Request) {
  const { base, isSecure } = addressOf(request);
  return isSecure
    ? { name: `__Host-${name}`, path: "/", secure: true }
    : { name, path: path === "/" ? base || "/" : base + path };
}

/** What an id is for; the same bytes have another hash for another purpose. */
export type Purpose = "session" | "customer";

/** 256 random bits, in 43 characters. */
export function randomId(): Secret {
  return new Secret(randomBytes(32).toString("base64url"));
}

/** The hash to store in place of an id. */
export function hashOf(vault: Vault, purpose: Purpose, id: Secret): Uint8Array {
  return vault.hash(labelled(purpose, id));
}

/** Its hashes with every key in the ring, for look-ups: finds ids stored before a key rotation too. */
export function hashesOf(vault: Vault, purpose: Purpose, id: Secret): Uint8Array[] {
  return vault.keyIds.map((keyId) => vault.hash(labelled(purpose, id), keyId));
}

function labelled(purpose: Purpose, id: Secret): Secret {
  return new Secret(`${purpose}:${id.reveal()}`);
}
