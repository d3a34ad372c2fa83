import { parseCookie } from "cookie";
import type { Request, Response } from "express";
import type { IdCookie } from "../sign-in/cookies.ts";

/** A cookie has a hundred bytes, and all the headers of a request 16 kB. */
const MOST_COOKIES = 30;
const UUID = /kit_customer_([0-9a-f-]{36})$/;

/**
 * Behind https a browser sends the cookies of all resources along with each request, so that somebody with very many could,
 * for some hours, send nothing that a server still reads. Clears those that are too many, in the order in which browsers
 * send them: of when a resource's cookie was first set, however often it was set anew since. That of `openUuid` stays. For
 * pages, and not for the sign-on: with a form of another site these cookies do not come along.
 */
export function createCookieRoom(cookieOf: (uuid: string) => IdCookie) {
  return (request: Request, response: Response, openUuid: string): void => {
    const names = Object.keys(parseCookie(request.headers.cookie ?? ""));
    const uuids = new Set(names.flatMap((name) => UUID.exec(name)?.[1] ?? []));
    const others = [...uuids].filter((uuid) => uuid !== openUuid && cookieOf(uuid).read(request));
    for (const uuid of others.slice(0, 1 - MOST_COOKIES)) cookieOf(uuid).clear(request, response);
  };
}
