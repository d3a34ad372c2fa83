import { randomBytes } from "node:crypto";
import { parseCookie, stringifySetCookie } from "cookie";
import type { Request, Response } from "express";
import type { Context } from "../context.ts";
import { addressOf } from "../pages/address.ts";
import { Secret } from "../secret.ts";

/** One cookie that holds a random id. What is read may be anything that a client sends. */
export interface SecretCookie {
  name: string;
  path: string;
  maxAgeSeconds: number;
}

/** 256 random bits, in 43 characters. */
export function randomId(): Secret {
  return new Secret(randomBytes(32).toString("base64url"));
}

export function readCookie(ctx: Context, cookie: SecretCookie, request: Request): Secret | null {
  const value = parseCookie(request.headers.cookie ?? "")[placeOf(ctx, cookie, request).name];
  return value ? new Secret(value) : null;
}

/**
 * Sets the cookie, or removes it where the value is null. HttpOnly and SameSite=Lax: it must be sent when the platform
 * redirects the browser back.
 */
export function writeCookie(
  ctx: Context,
  cookie: SecretCookie,
  request: Request,
  response: Response,
  id: Secret | null,
): void {
  const [value, maxAge] = id ? [id.reveal(), cookie.maxAgeSeconds] : ["", 0];
  const place = placeOf(ctx, cookie, request);
  const line = stringifySetCookie({ ...place, value, maxAge, httpOnly: true, sameSite: "lax" });
  response.append("Set-Cookie", line);
}

/**
 * Behind https also Secure, with the `__Host-` prefix: a browser accepts such a cookie from this exact host only, so no
 * sibling domain can plant one. The prefix requires the path `/`; without https the cookie is limited to `path`.
 */
function placeOf(ctx: Context, { name, path }: SecretCookie, request: Request) {
  const { base, isSecure } = addressOf(ctx, request);
  return isSecure
    ? { name: `__Host-${name}`, path: "/", secure: true }
    : { name, path: path === "/" ? base || "/" : base + path };
}
