import { parseCookie, stringifySetCookie } from "cookie";
import type { Request, Response } from "express";
import type { AddressOf } from "../pages/pages.tsx";
import type { Secret } from "../secret.ts";
import { readId } from "./random-id.ts";

/** One cookie that holds an id. */
export interface IdCookie {
  read(request: Request): Secret | null;
  set(request: Request, response: Response, id: Secret): void;
  clear(request: Request, response: Response): void;
}

/**
 * HttpOnly and SameSite=Lax (the cookie must be sent when the platform redirects the browser back). Behind https also
 * Secure, with the `__Host-` prefix: a browser accepts such a cookie from this exact host only, so no sibling domain
 * can plant one. The prefix requires the path `/`; without https the cookie is limited to `path`.
 */
export function createIdCookie(
  addressOf: AddressOf,
  { name, path, maxAgeSeconds }: { name: string; path: string; maxAgeSeconds: number },
): IdCookie {
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
    read: (request) => readId(parseCookie(request.headers.cookie ?? "")[cookie(request).name]),
    set: (request, response, id) => write(request, response, id.reveal(), maxAgeSeconds),
    clear: (request, response) => write(request, response, "", 0),
  };
}
