import { Router } from "express";
import type { Platform } from "../platform.ts";
import { reference } from "../shapes/reference.ts";
import { isoTime } from "../world/clock.ts";
import { answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachApp } from "./reach.ts";

/** "Domains" of the partner endpoints: the platform's own name of an app, and those its owner added. */
export function domainEndpoints({ world }: Platform): Router {
  const router = Router();
  router.get("/apps/:app/domains", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, world.domains.of("app", app.id), (domain) => ({
      id: domain.id,
      hostname: domain.hostname,
      kind: domain.kind,
      cname: domain.kind === "custom" ? `${domain.hostname}.dns.platform-apps.example.com` : null,
      status: "succeeded",
      acm_status: null,
      acm_status_reason: null,
      sni_endpoint: null,
      app: reference(app),
      created_at: isoTime(domain.createdAt),
      updated_at: isoTime(domain.createdAt),
    }));
  });
  return router;
}
