import type { RequestHandler } from "express";
import helmet from "helmet";

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

/** The headers of everything that people see: a strict policy, and no caching. */
export const securityHeaders: RequestHandler = (request, response, next) => {
  response.set("Cache-Control", "no-store");
  headers(request, response, next);
};
