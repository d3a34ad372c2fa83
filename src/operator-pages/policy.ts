import type { RequestHandler } from "express";

// As for all pages, and one small script of ours, which may ask us again for the page it stands in.
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join(";");

/** Takes the place of the policy that pages without a script have. */
export const policyWithScript: RequestHandler = (_request, response, next) => {
  response.set("Content-Security-Policy", POLICY);
  next();
};
