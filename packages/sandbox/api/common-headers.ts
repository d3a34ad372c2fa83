import type { RequestHandler } from "express";
import type { Platform } from "../platform.ts";

/**
 * Sets the headers that every answer has, errors included (assumed, section 4). Later handlers overwrite them: the
 * defaults are a full bucket, for a caller not identified yet, and the current time, for an answer about no object.
 */
export function setCommonHeaders({ world }: Platform): RequestHandler {
  return (_req, res, next) => {
    res.set("RateLimit-Remaining", String(world.settings.rateLimit));
    res.set("Last-Modified", new Date(world.clock.now()).toUTCString());
    next();
  };
}
