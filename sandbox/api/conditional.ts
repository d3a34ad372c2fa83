import type { RequestHandler } from "express";

/**
 * `fetch` adds `Cache-Control: no-cache` to whatever carries `If-None-Match`, and Express then never answers 304.
 * The platform does (decisions, section 4), so the header is dropped before Express compares.
 */
export const allowNotModified: RequestHandler = (req, _res, next) => {
  delete req.headers["cache-control"];
  next();
};
