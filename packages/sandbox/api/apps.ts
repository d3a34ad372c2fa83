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
    reachUser(world, callerOf(res), req.params.user);
    answerList(req, res, reachableApps(world, callerOf(res)), shape);
  });

  router.post("/filters/apps", (req, res) => {
    const ids = readIds(readObject(req, res)["in"]);
    const apps = reachableApps(world, callerOf(res)).filter((app) => ids.has(app.id));
    answerList(req, res, apps, (app) => teamAppShape(world, app));
  });

  return router;
}

function readIds(wanted: unknown): Set<string> {
  const ids: unknown = (wanted as { id?: unknown } | null | undefined)?.id;
  if (!Array.isArray(ids) || !ids.every(isUuid))
    throw invalid("in.id must be an array of app ids, all uuids.");
  return new Set(ids.map((id) => id.toLowerCase()));
}

function isUuid(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
}
