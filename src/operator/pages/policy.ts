import type { RequestHandler } from "express";
import helmet from "helmet";
import { policyWith } from "../../pages/security-headers.ts";

/**
 * Replaces the content security policy of pages without a script: the same, but it allows our own script, and lets that
 * script request pages from us.
 */
export const policyWithScript: RequestHandler = helmet.contentSecurityPolicy(
  policyWith({ "script-src": ["'self'"], "connect-src": ["'self'"] }),
);
