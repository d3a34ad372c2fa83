import type { Request, Response } from "express";
import type { Metrics } from "./metrics.ts";

interface Mount {
  path: string;
  label: string;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Times each request by the template of its route, which is ours, and never by its path, which is anybody's. A route
 * knows only what comes behind the path at which its router stands: `ownPaths`, or `resourcesPath`, which is a setting
 * and called "/resources" whatever it is, for alerts look for it.
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

/** A request that was turned away before it found its route has its mount alone. */
function routeOf({ originalUrl, route }: Request, mounts: readonly Mount[]): string {
  const { path = null } = (route ?? {}) as { path?: unknown };
  const mount = mounts.find((each) => originalUrl.startsWith(each.path));
  const behind = typeof path === "string" && path !== "/" && path !== mount?.path ? path : "";
  return (mount?.label ?? "") + behind || "other";
}
