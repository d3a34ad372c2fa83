import { Router } from "express";
import { render } from "preact-render-to-string";
import type { Platform } from "../platform.ts";
import { notFound } from "../refusal.ts";
import { seenIncidents } from "./current-status.ts";
import { IncidentPage } from "./incident-page.tsx";

/** The human side of the feed: one page for each incident. */
export function incidentPages(platform: Platform): Router {
  const router = Router();
  router.get("/incidents/:id", (req, res) => {
    const found = seenIncidents(platform).find(({ id }) => String(id) === req.params.id);
    if (!found) throw notFound(`There is no incident ${req.params.id}.`);
    res.type("html").send(`<!doctype html>${render(<IncidentPage incident={found.shape} />)}`);
  });
  return router;
}
