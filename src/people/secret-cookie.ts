import { parseCookie, stringifySetCookie } from "cookie";
import type { Request, Response } from "express";
import type { AddressOf } from "../pages/pages.tsx";
import { Secret } from "../secret.ts";

/** One cookie that holds a secret: an id, or something sealed. What is read may be anything that a client made up. */
export interface SecretCookie {
  read(request: Request): Secret | null;
  set(request: Request, response: Response, value: Secret): void;
  clear(request: Request, response: Response): void;
}

/**
 * HttpOnly and SameSite=Lax (the cookie must be sent when the platform redirects the browser back). Behind https also
 * Secure, with the `__Host-` prefix: a browser accepts such a cookie from this exact host only, so no sibling domain
 * can plant one. The prefix requires the path `/`; without https the cookie is limited to `path`.
 */
export function createSecretCookie(
  addressOf: AddressOf,
  { name, path, maxAgeSeconds }: { name: string; path: string; maxAgeSeconds: number },
): SecretCookie {
  function cookie(request: Request) {
    const { base, isSecure } = addressOf(request);
    return isSecure
      ? { name: `__Host-${name}`, path: "/", secure: true }
      : { name, path: path === "/" ? base || "/" : base + path };
  }
  function write(request: Request, response: Response, value: string, maxAge: number): void {
    const line = stringifySetCookie({ ...cookie(request), value, maxAge, httpOnly: true, sameSite: "lax" });
    response.append("Set-Cookie", line);
  }
  return {
    read(request) {
      const value = parseCookie(request.headers.cookie ?? "")[cookie(request).name];
      return value ? new Secret(value) : null;
    },
    set: (request, response, value) => write(request, response, value.reveal(), maxAgeSeconds),
    clear: (request, response) => write(request, response, "", 0),
  };
}
