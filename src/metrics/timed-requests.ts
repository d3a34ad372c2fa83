import type { Request, Response } from "express";
import type { Metrics } from "./metrics.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Times each request by the template of its route, which is ours, and never by its path, which is anybody's: `mounts`
 * are the paths at which routers stand, for a route knows only what comes behind.
 */
export function timedRequests({ request: observe }: Metrics, mounts: readonly string[]) {
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
function routeOf({ originalUrl, route }: Request, mounts: readonly string[]): string {
  const { path = null } = (route ?? {}) as { path?: unknown };
  const mount = mounts.find((each) => originalUrl.startsWith(each)) ?? "";
  const behind = typeof path === "string" && path !== "/" && path !== mount ? path : "";
  return mount + behind || "other";
}
