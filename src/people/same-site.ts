import type { Request } from "express";
import type { AddressOf } from "../pages/pages.tsx";

const LONGEST = 1_000;

/**
 * Where to go after signing in: a path of this service, or null if `given` is none. Refuses whatever a browser could
 * read as another host (`//evil`, `/\evil`, with a tab in between, or hidden behind dot segments).
 */
export function localPath(given: string): string | null {
  if (given.length > LONGEST || !/^\/(?!\/)[^\p{Cc}\s\\]*$/u.test(given)) return null;
  const url = URL.canParse(given, OURS) ? new URL(given, OURS) : null;
  if (url?.origin !== OURS || url.pathname.startsWith("//")) return null;
  return url.pathname + url.search + url.hash;
}

const OURS = "http://ours.invalid";

/**
 * Whether a form was sent from a page of ours. The browser says so in headers that no page can write. SameSite=Lax is
 * the second protection: the session cookie is not sent with posts from other sites. A client that sends neither header
 * is not a browser, so no other site can misuse it.
 */
export function isFromOurPage(request: Request, addressOf: AddressOf): boolean {
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" || site === "none";
  const { origin } = request.headers;
  return origin === undefined || origin === addressOf(request).origin;
}
