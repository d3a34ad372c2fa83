import { Router } from "express";
import type { Platform } from "../platform.ts";
import { collaboratorShape } from "../shapes/collaborator.ts";
import { answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachApp } from "./reach.ts";

/** "App collaborators" of the partner endpoints. */
export function collaboratorEndpoints({ world }: Platform): Router {
  const router = Router();
  router.get("/apps/:app/collaborators", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, world.collaborators.of("app", app.id), (row) => collaboratorShape(world, row));
  });
  return router;
}
