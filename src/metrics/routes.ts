import { Router, type RequestHandler } from "express";
import { Registry } from "prom-client";
import { Refusal } from "../errors.ts";

/** `GET /metrics`, in Prometheus' text format, for whom `guard` lets pass; to be mounted at `/metrics`. */
export function metricsRoutes(needs: { guard: RequestHandler[]; scrape(): Promise<string> }): Router {
  const router = Router({ caseSensitive: true });
  router.use(needs.guard);
  router
    .route("/")
    .get(async (_request, response) => {
      response.set({ "Content-Type": Registry.PROMETHEUS_CONTENT_TYPE, "Cache-Control": "no-store" });
      response.end(await needs.scrape());
    })
    .all((_request, response) => {
      response.setHeader("Allow", "GET, HEAD");
      throw new Refusal("Only GET, HEAD can be used here.", { id: "method_not_allowed", status: 405 });
    });
  return router;
}
