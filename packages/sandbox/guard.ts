import { createHash, timingSafeEqual } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import { forbidden, unauthorized } from "./refusal.ts";
import { isLoopback, type SandboxSettings } from "./settings.ts";

/**
 * The sandbox has no accounts. On the loopback address, access to this machine is enough; so pages of other sites must
 * be kept from acting or reading through the browser of a person on it, be it with a form or an address of theirs, or
 * with a domain that they resolve to this machine (DNS rebinding). On any other address a token is demanded: as Bearer,
 * or in a browser as the password of HTTP Basic, with any user name.
 */
export function onlyOwners(settings: SandboxSettings): RequestHandler {
  return (req, res, next) => {
    refuseStrangers(settings, req, res);
    next();
  };
}

/** Throws unless the caller may use this sandbox as its owner. */
export function refuseStrangers({ host, token }: SandboxSettings, req: Request, res: Response): void {
  if (isLoopback(host) && !isLoopback(hostnameOf(req)))
    throw forbidden(
      "The sandbox can be used on this machine only: use its address with localhost or 127.0.0.1, or set SANDBOX_HOST.",
    );
  if (token !== null && !isSame(tokenIn(req), token)) {
    res.set("WWW-Authenticate", 'Basic realm="sandbox", charset="UTF-8"');
    throw unauthorized(
      "The sandbox demands its token, as Bearer or as the password of HTTP Basic: SANDBOX_TOKEN, or what it printed at its start.",
    );
  }
}

/** For the control API: browsers say whose page sends a request; it is accepted only from the sandbox's own. */
export const noOtherPages: RequestHandler = (req, _res, next) => {
  refuseOtherPages(req);
  next();
};

export function refuseOtherPages(req: Request): void {
  const { origin } = req.headers;
  if (origin !== undefined && !isOfOwnPage(req))
    throw forbidden(`The sandbox accepts no requests from pages of ${origin}.`);
  if (isOfOtherSite(req)) throw forbidden("The sandbox accepts no requests from pages of other sites.");
}

/** For the pages: forms must come from them; other sites may lead a person here, but load nothing. */
export const onlyOwnPages: RequestHandler = (req, _res, next) => {
  if (req.method !== "GET" && req.method !== "HEAD" && !isOfOwnPage(req))
    throw forbidden(
      "Forms are accepted only from the sandbox's own pages. Reload the page and send the form again.",
    );
  if (isOfOtherSite(req) && req.headers["sec-fetch-dest"] !== "document")
    throw forbidden("The sandbox's pages are not shown within those of other sites.");
  next();
};

function isOfOtherSite({ headers }: Request): boolean {
  return ["cross-site", "same-site"].includes(String(headers["sec-fetch-site"]));
}

/** A proxy in front of the sandbox may speak TLS with the browser. */
function isOfOwnPage({ headers }: Request): boolean {
  return headers.origin?.replace(/^https?:/, "") === `//${headers.host}`;
}

/** The name in the Host header, without the port. */
function hostnameOf({ headers }: Request): string {
  return (headers.host ?? "").replace(/:\d+$/, "");
}

function tokenIn({ headers }: Request): string {
  const [, scheme = "", value = ""] = /^(Basic|Bearer) +(\S+) *$/i.exec(headers.authorization ?? "") ?? [];
  if (scheme.toLowerCase() === "bearer") return value;
  return Buffer.from(value, "base64")
    .toString()
    .replace(/^[^:]*:/, "");
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(a!, b!);
}
