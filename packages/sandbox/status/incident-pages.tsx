import { Router } from "express";
import { pageHeaders } from "../pages/headers.ts";
import { sendPage } from "../pages/send-page.ts";
import type { Platform } from "../platform.ts";
import { notFound } from "../refusal.ts";
import { seenIncidents } from "./current-status.ts";
import { IncidentPage } from "./incident-page.tsx";

/** The pages of the status feed for people: one for each incident. */
export function incidentPages(platform: Platform): Router {
  const router = Router();
  router.get("/incidents/:id", pageHeaders, (req, res) => {
    const found = seenIncidents(platform).find(({ id }) => String(id) === req.params.id);
    if (!found) throw notFound(`There is no incident ${req.params.id}.`);
    sendPage(res, 200, <IncidentPage incident={found.shape} />);
  });
  return router;
}
