import { type RequestHandler, Router } from "express";
import { allowNotModified } from "../api/conditional.ts";
import type { Platform } from "../platform.ts";
import { notFound, Refused } from "../refusal.ts";
import { currentStatus, seenIncidents } from "./current-status.ts";
import { readIncidentQuery } from "./incident-query.ts";

/** The public status feed, version 4 ("Status feed"): without authentication, from any web origin, read-only. */
export function statusFeed(platform: Platform): Router {
  const router = Router();
  router.use(allowAnyOrigin, onlyReading, allowNotModified);

  router.get("/current-status", (_req, res) => void res.json(currentStatus(platform)));

  router.get("/incidents", (req, res) => {
    const { sinceMs, perPage } = readIncidentQuery(req.query);
    const found = seenIncidents(platform).filter(({ shape }) => Date.parse(shape.created_at) >= sinceMs);
    res.json(found.slice(0, perPage).map(({ shape }) => shape));
  });

  router.get("/incidents/:id", (req, res) => {
    const found = seenIncidents(platform).find(({ id }) => String(id) === req.params.id);
    if (!found) throw notFound(`There is no incident ${req.params.id}.`);
    res.json(found.shape);
  });

  router.use((req) => {
    throw notFound(`The status feed has no ${req.baseUrl}${req.path}.`);
  });
  return router;
}

const allowAnyOrigin: RequestHandler = (req, res, next) => {
  res.set("Access-Control-Allow-Origin", "*");
  if (req.method !== "OPTIONS") return next();
  res.set({
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": req.headers["access-control-request-headers"] ?? "*",
    "Access-Control-Max-Age": "86400",
    Vary: "Access-Control-Request-Headers",
  });
  res.status(204).end();
};

const onlyReading: RequestHandler = (req, res, next) => {
  if (req.method === "GET" || req.method === "HEAD") return next();
  res.set("Allow", "GET, HEAD, OPTIONS");
  throw new Refused(
    405,
    "method_not_allowed",
    `The status feed is only read, not changed with ${req.method}.`,
  );
};
