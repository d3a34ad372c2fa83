import type { Request } from "express";
import type { AddressOf } from "../pages/pages.tsx";

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
