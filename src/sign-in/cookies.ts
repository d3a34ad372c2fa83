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
 * HttpOnly, SameSite=Lax (it must come along when the platform sends the browser back), and behind https Secure with the
 * `__Host-` prefix, with which a browser takes it from this very host alone: no neighbour below the same domain can
 * plant one. The prefix demands the path `/`; without https the cookie keeps to `path`.
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
