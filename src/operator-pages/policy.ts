import type { RequestHandler } from "express";
import helmet from "helmet";
import { policyWith } from "../pages/security-headers.ts";

/**
 * Takes the place of the policy that pages without a script have: as for all, and one small script of ours, which may ask
 * us again for the page it stands in.
 */
export const policyWithScript: RequestHandler = helmet.contentSecurityPolicy(
  policyWith({ "script-src": ["'self'"], "connect-src": ["'self'"] }),
);
