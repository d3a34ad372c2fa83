import type { Request } from "express";
import { isWordOfPath } from "../platform/path.ts";

// How metrics and traces name a call: never by its path, which comes from outside or holds ids.

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Words of paths that are called without a template, or typed; of all others, the template names the words. */
const WORDS = new Set(
  "actions addon-attachments addons apps collaborators config domains log-drains oauth token".split(" "),
);

/**
 * The endpoint of a call, such as `GET /addons/:id/config`. The platform's base URL may have a path of its own. A path
 * of which two words in a row are unknown is `other`: the number of labels must not grow with that of the customers.
 */
export function endpointOf(method: string, url: URL | string): string {
  const path = (typeof url === "string" ? new URL(url) : url).pathname.replace(/[^/]+/g, (word) =>
    WORDS.has(word) || isWordOfPath(word) ? word : ":id",
  );
  const known = path.replace(/^(\/:id)+(?=\/|$)/, "");
  return known.length < 2 || known.includes(":id/:id") || !METHODS.includes(method)
    ? "other"
    : `${method} ${known}`;
}

const ROUTER_PATHS = ["/metrics", "/oauth", "/sso", "/customer", "/operator"];

/**
 * A route knows only the part of its path behind its router's mount. The label of the platform's calls is always
 * "/resources", because alerts refer to it; of a request that was refused before it reached a route, its mount's.
 */
export function routeOf({ originalUrl, route }: Request, resourcesPath: string): string {
  const isBelow = (path: string) =>
    originalUrl.startsWith(path) && /^([/?]|$)/.test(originalUrl.slice(path.length));
  const mount = isBelow(resourcesPath) ? "/resources" : (ROUTER_PATHS.find(isBelow) ?? "");
  const { path } = (route ?? {}) as { path?: unknown };
  const behind = typeof path === "string" && path !== "/" && path !== mount ? path : "";
  return mount + behind || "other";
}
