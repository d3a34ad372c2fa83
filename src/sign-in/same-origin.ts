import type { Request } from "express";
import type { AddressOf } from "../pages/pages.tsx";

/**
 * Whether a form was sent from a page of ours. Browsers say so themselves, in headers that no page can write; beside it
 * stands SameSite=Lax, which keeps the session out of other sites' posts. A client that sends neither header is no
 * browser, and nobody can lure it.
 */
export function isFromOurPage(request: Request, addressOf: AddressOf): boolean {
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" || site === "none";
  const { origin } = request.headers;
  return origin === undefined || origin === addressOf(request).origin;
}
