import { Router, type RequestHandler } from "express";
import { Registry } from "prom-client";
import { methodNotAllowed } from "../http/method-not-allowed.ts";

/** `GET /metrics`, in Prometheus' text format, for requests that `guard` lets pass; to be mounted at `/metrics`. */
export function metricsRoutes(needs: { guard: RequestHandler; scrape(): Promise<string> }): Router {
  const router = Router({ caseSensitive: true });
  router.use(needs.guard);
  router
    .route("/")
    .get(async (_request, response) => {
      response.set({ "Content-Type": Registry.PROMETHEUS_CONTENT_TYPE, "Cache-Control": "no-store" });
      response.end(await needs.scrape());
    })
    .all(methodNotAllowed("GET, HEAD", { isGuarded: true }));
  return router;
}
