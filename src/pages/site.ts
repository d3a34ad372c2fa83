import { Router, type RequestHandler } from "express";
import helmet from "helmet";
import type { Context } from "../context.ts";
import { methodNotAllowed } from "../http/requests.ts";
import { showProblem } from "./problem.tsx";
import { stylesheet } from "./style.ts";

/**
 * A policy that allows only our stylesheet, `data:` images and forms that post to us, plus the directives in `more`.
 * All directives are written out: helmet's default `upgrade-insecure-requests` would break a service that is tried
 * without https.
 */
export function policyWith(more: Record<string, string[]> = {}) {
  const directives = {
    "default-src": ["'none'"],
    "style-src": ["'self'"],
    ...more,
    "img-src": ["data:"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
  };
  return { useDefaults: false, directives };
}

const headers = helmet({
  contentSecurityPolicy: policyWith(),
  // The address of a callback contains a code, so other sites must not get it. `no-referrer` would go too far: with it
  // a browser sends no usable Origin with our forms.
  referrerPolicy: { policy: "same-origin" },
  // Every answer has these.
  strictTransportSecurity: false,
  xContentTypeOptions: false,
  xFrameOptions: { action: "deny" },
});

const noStore: RequestHandler = (_request, response, next) => {
  response.set("Cache-Control", "no-store");
  next();
};

/**
 * Everything for people: the handlers of each path, in order, with the headers that pages need, and a page for each
 * error they throw.
 */
export function site(
  ctx: Pick<Context, "config" | "log">,
  routers: Readonly<Record<string, readonly RequestHandler[]>>,
): Router {
  const router = Router({ caseSensitive: true });
  router.route(stylesheet.path).get(stylesheet.send).all(methodNotAllowed("GET, HEAD"));
  for (const [path, handlers] of Object.entries(routers))
    router.use(path, noStore, headers, ...handlers, showProblem(ctx));
  return router;
}
