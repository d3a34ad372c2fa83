import type { RequestHandler } from "express";
import helmet from "helmet";

/**
 * Nothing but our stylesheet, the little pictures within it, and forms that post to us; and `more`. Written out in full:
 * with helmet's defaults, `upgrade-insecure-requests` would break a service that is tried without https.
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
  // The address of a callback holds a code. And with `no-referrer` a browser would send no usable Origin with our forms.
  referrerPolicy: { policy: "same-origin" },
  // What stands on our neighbours' names is not ours to say.
  strictTransportSecurity: { maxAge: 31_536_000, includeSubDomains: false },
  xFrameOptions: { action: "deny" },
});

/** The headers of everything that people see: a strict policy, and no copy in any cache. */
export const securityHeaders: RequestHandler = (request, response, next) => {
  response.set("Cache-Control", "no-store");
  headers(request, response, next);
};
