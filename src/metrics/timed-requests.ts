import type { Request, Response } from "express";
import type { Metrics } from "./metrics.ts";

interface Mount {
  path: string;
  label: string;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Times each request by the template of its route, never by its path, which comes from outside. A route knows only the
 * part of the path after its router's mount: one of `ownPaths`, or `resourcesPath`. The latter is a setting; its label
 * is always "/resources", because alerts refer to it.
 */
export function timedRequests(
  { request: observe }: Metrics,
  resourcesPath: string,
  ownPaths: readonly string[],
) {
  const mounts = [
    { path: resourcesPath, label: "/resources" },
    ...ownPaths.map((path) => ({ path, label: path })),
  ];
  return (request: Request, response: Response): void => {
    const startedMs = performance.now();
    response.on("close", () => {
      const method = METHODS.includes(request.method) ? request.method : "other";
      const status = response.writableFinished ? String(response.statusCode) : "none";
      const route = routeOf(request, mounts);
      observe({ method, route, status }, (performance.now() - startedMs) / 1_000);
    });
  };
}

/** A request that was refused before it reached a route gets the label of its mount alone. */
function routeOf({ originalUrl, route }: Request, mounts: readonly Mount[]): string {
  const { path = null } = (route ?? {}) as { path?: unknown };
  const mount = mounts.find((each) => isBelow(originalUrl, each.path));
  const behind = typeof path === "string" && path !== "/" && path !== mount?.path ? path : "";
  return (mount?.label ?? "") + behind || "other";
}

/** Whether the address is the path or below it. One that merely begins with the same letters is not. */
function isBelow(address: string, path: string): boolean {
  if (!address.startsWith(path)) return false;
  const next = address[path.length];
  return next === undefined || next === "/" || next === "?";
}
