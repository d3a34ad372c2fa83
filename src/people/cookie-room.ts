import { parseCookie } from "cookie";
import type { Request, Response } from "express";
import type { SecretCookie } from "./secret-cookie.ts";

/**
 * Keeps a browser from collecting so many cookies of one family that its requests exceed the limit on headers (16 kB)
 * and no longer get through: clears those above `most`, in the order in which browsers send them, which is by when each
 * was first set. `family` finds what tells the cookies apart in their names; the one of `kept` stays.
 */
export function createCookieRoom(
  cookieOf: (key: string) => SecretCookie,
  { family, most }: { family: RegExp; most: number },
) {
  return (request: Request, response: Response, kept: string): void => {
    const names = Object.keys(parseCookie(request.headers.cookie ?? ""));
    const keys = new Set(names.flatMap((name) => family.exec(name)?.[1] ?? []));
    const others = [...keys].filter((key) => key !== kept && cookieOf(key).read(request));
    for (const key of others.slice(0, 1 - most)) cookieOf(key).clear(request, response);
  };
}
