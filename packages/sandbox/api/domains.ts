import { Router } from "express";
import type { Platform } from "../platform.ts";
import { domainShape } from "../shapes/domain.ts";
import { answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachApp } from "./reach.ts";

/** "Domains" of the partner endpoints: the platform's own host name of an app, and those its owner added. */
export function domainEndpoints({ world }: Platform): Router {
  const router = Router();
  router.get("/apps/:app/domains", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, world.domains.of("app", app.id), (domain) => domainShape(world, domain));
  });
  return router;
}
