import { Router, type Request, type Response } from "express";
import type { Platform } from "../platform.ts";
import { conflict, invalid, notFound } from "../refusal.ts";
import { logDrainShape } from "../shapes/log-drain.ts";
import { isNewerGeneration } from "../world/apps.ts";
import { addLogDrain } from "../world/log-drains.ts";
import type { AddonRecord, AppRecord, LogDrainRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { readObject } from "./json-body.ts";
import { reachAddon, reachApp } from "./reach.ts";

/**
 * "Log drains" of the partner endpoints: only the caller's own, found by id, URL or token, and none at all for apps
 * of the newer generation (usage rule 2).
 */
export function logDrainEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (drain: LogDrainRecord) => logDrainShape(world, drain);
  const ownDrains = (addon: AddonRecord, app?: AppRecord) =>
    world.logDrains.of("addon", addon.id).filter(({ appId }) => app === undefined || appId === app.id);

  router.get("/addons/:addon/log-drains", (req, res) => {
    answerList(req, res, ownDrains(reachDrainedAddon(req, res)), shape);
  });

  router.put("/addons/:addon/log-drains/:drain", (req, res) => {
    const addon = reachDrainedAddon(req, res);
    const drain = find(ownDrains(addon), req.params.drain);
    const url = readUrl(req, res);
    if (ownDrains(addon).some((other) => other !== drain && other.url === url))
      throw conflict("The drain exists already.");
    Object.assign(drain, { url, updatedAt: world.clock.now() });
    answer(res, shape(drain), drain);
  });

  router.post("/apps/:app/log-drains", (req, res) => {
    const app = reachDrainedApp(req, res);
    const url = readUrl(req, res);
    if (world.logDrains.of("app", app.id).some((drain) => drain.url === url))
      throw conflict("The drain exists already.");
    const drain = addLogDrain(world, { url, addonId: callerOf(res).id, appId: app.id });
    answer(res.status(201), shape(drain), drain);
  });

  router.get("/apps/:app/log-drains", (req, res) => {
    answerList(req, res, ownDrains(callerOf(res), reachDrainedApp(req, res)), shape);
  });

  router.get("/apps/:app/log-drains/:drain", (req, res) => {
    const drain = find(ownDrains(callerOf(res), reachDrainedApp(req, res)), req.params.drain);
    answer(res, shape(drain), drain);
  });

  router.delete("/apps/:app/log-drains/:drain", (req, res) => {
    const drain = find(ownDrains(callerOf(res), reachDrainedApp(req, res)), req.params.drain);
    world.logDrains.remove(drain);
    answer(res, shape(drain), drain);
  });

  function reachDrainedApp(req: Request<{ app: string }>, res: Response): AppRecord {
    return refuseNewer(reachApp(world, callerOf(res), req.params.app));
  }

  function reachDrainedAddon(req: Request<{ addon: string }>, res: Response): AddonRecord {
    const addon = reachAddon(world, callerOf(res), req.params.addon);
    refuseNewer(world.apps.get(addon.appId)!);
    return addon;
  }

  return router;
}

function refuseNewer(app: AppRecord): AppRecord {
  if (isNewerGeneration(app))
    throw invalid(`Log drains are not available for apps of the ${app.generation} generation.`);
  return app;
}

function find(drains: LogDrainRecord[], idUrlOrToken: string): LogDrainRecord {
  const drain = drains.find(({ id, url, token }) => [id, url, token].includes(idUrlOrToken));
  if (!drain) throw notFound("There is no such log drain.");
  return drain;
}

function readUrl(req: Request, res: Response): string {
  const { url } = readObject(req, res);
  if (typeof url !== "string" || !URL.canParse(url)) throw invalid("url must be the URL of the drain.");
  return url;
}
