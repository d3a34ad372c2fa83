import { Router } from "express";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { appShape, teamAppShape } from "../shapes/app.ts";
import type { AppRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { readObject } from "./json-body.ts";
import { reachableApps, reachApp, reachUser } from "./reach.ts";

/** "App info" of the partner endpoints: only apps the add-on is attached to. */
export function appEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (app: AppRecord) => appShape(world, app);

  router.get("/apps/:app", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answer(res, shape(app), app);
  });

  router.get("/apps", (req, res) => {
    answerList(req, res, reachableApps(world, callerOf(res)), shape);
  });

  router.get("/users/:user/apps", (req, res) => {
    const user = reachUser(world, callerOf(res), req.params.user);
    const apps = reachableApps(world, callerOf(res)).filter((app) => app.ownerId === user.id);
    answerList(req, res, apps, shape);
  });

  router.post("/filters/apps", (req, res) => {
    const ids = (readObject(req, res)["in"] as { id?: unknown } | undefined)?.id;
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string")) {
      throw invalid("in.id must be an array of app ids.");
    }
    const apps = reachableApps(world, callerOf(res)).filter((app) => ids.includes(app.id));
    answerList(req, res, apps, (app) => teamAppShape(world, app));
  });

  return router;
}
