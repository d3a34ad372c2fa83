import type { RequestHandler } from "express";
import type { Platform } from "../platform.ts";

/**
 * What every answer carries, an error too (assumed, section 4), until whoever answers knows better: a caller nobody
 * knows has a full bucket, and an answer about no object is as old as the moment.
 */
export function setCommonHeaders({ world }: Platform): RequestHandler {
  return (_req, res, next) => {
    res.set("RateLimit-Remaining", String(world.settings.rateLimit));
    res.set("Last-Modified", new Date(world.clock.now()).toUTCString());
    next();
  };
}
