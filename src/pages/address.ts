import type { Request, Response } from "express";

type Needs = { config: { publicUrl: string | undefined } };

/**
 * The address of this service as a browser sees it: from `PUBLIC_URL`, or else from the request, which trusts as many
 * proxies as `TRUST_PROXY` says. `base` is the path prefix under which a proxy serves us.
 */
export function addressOf({ config: { publicUrl } }: Needs, { protocol, host }: Request) {
  const url = new URL(publicUrl ?? `${protocol}://${host}`);
  const base = url.pathname.replace(/\/+$/, "");
  return { origin: url.origin, base, isSecure: url.protocol === "https:" };
}

export function goTo(needs: Needs, request: Request, response: Response, path: string): void {
  response
    .status(303)
    .set("Location", addressOf(needs, request).base + path)
    .end();
}

const OURS = "http://ours.invalid";

/**
 * A path of this service to go to, or null if `given` is none. Refuses whatever a browser could read as another host
 * (`//evil`, `/\evil`, with a tab in between, or hidden behind dot segments).
 */
export function localPath(given: unknown): string | null {
  if (typeof given !== "string" || !given.startsWith("/") || given.length > 1_000) return null;
  const url = URL.canParse(given, OURS) ? new URL(given, OURS) : null;
  if (url?.origin !== OURS || url.pathname.startsWith("//")) return null;
  return url.pathname + url.search + url.hash;
}

/**
 * Whether a form was sent from a page of ours. The browser says so in headers that no page can write. A client that
 * sends neither header is not a browser, so no other site can misuse it.
 */
export function isFromOurPage(needs: Needs, request: Request): boolean {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (site !== undefined) return site === "same-origin" || site === "none";
  return origin === undefined || origin === addressOf(needs, request).origin;
}
