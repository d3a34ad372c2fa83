import type { RequestHandler } from "express";

/**
 * Only `ETag` and `If-None-Match` decide on a 304 (assumed, section 4), so this removes the other headers that Express
 * considers: `fetch` adds `Cache-Control: no-cache` to requests with `If-None-Match`, for which Express never answers
 * 304, and `If-Modified-Since` cannot tell two changes within one second apart.
 */
export const allowNotModified: RequestHandler = (req, _res, next) => {
  delete req.headers["cache-control"];
  delete req.headers["if-modified-since"];
  next();
};
