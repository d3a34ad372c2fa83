import { parseCookie } from "cookie";
import type { Request, Response } from "express";
import type { IdCookie } from "../web-sessions/id-cookie.ts";

/** A cookie takes about 100 bytes, and all the headers of a request may take 16 kB. */
const MOST_COOKIES = 30;
const UUID = /kit_customer_([0-9a-f-]{36})$/;

/**
 * Behind https a browser sends the cookies of all resources with each request. A customer with very many resources
 * could exceed the limit on the headers, and no request would get through until cookies expire (after four hours). This
 * clears the cookies above `MOST_COOKIES`, in the order in which browsers send them: by when a resource's cookie was
 * first set, even if it was set again since. The cookie of `openUuid` stays. Called for pages and not for the sign-on,
 * because a browser does not send these cookies with a form posted from another site.
 */
export function createCookieRoom(cookieOf: (uuid: string) => IdCookie) {
  return (request: Request, response: Response, openUuid: string): void => {
    const names = Object.keys(parseCookie(request.headers.cookie ?? ""));
    const uuids = new Set(names.flatMap((name) => UUID.exec(name)?.[1] ?? []));
    const others = [...uuids].filter((uuid) => uuid !== openUuid && cookieOf(uuid).read(request));
    for (const uuid of others.slice(0, 1 - MOST_COOKIES)) cookieOf(uuid).clear(request, response);
  };
}
