import { type Request, type Response, Router } from "express";
import type { Platform } from "../platform.ts";
import { conflict, forbidden, invalid, notFound } from "../refusal.ts";
import { logDrainShape } from "../shapes/log-drain.ts";
import { isNewerGeneration } from "../world/apps.ts";
import { addLogDrain, isDrainUrl } from "../world/log-drains.ts";
import type { AddonRecord, AppRecord, LogDrainRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { callerOf, partnerOf } from "./caller.ts";
import { readObject } from "./json-body.ts";
import { ofOpenTeams, reachAddon, reachApp, refuseClosedTeam, sees } from "./reach.ts";

/**
 * "Log drains" of the partner endpoints: a partner sees only its own, found by id, URL or token. Apps of the newer
 * generation have none (usage rule 2).
 */
export function logDrainEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (drain: LogDrainRecord) => logDrainShape(world, drain);
  const drainsOf = (addon: AddonRecord) => world.logDrains.of("addon", addon.id);
  const seenDrains = (res: Response, app: AppRecord) =>
    world.logDrains.of("app", app.id).filter(({ addonId }) => sees(callerOf(res), addonId));

  router.get("/addons/:addon/log-drains", (req, res) => {
    const drains = drainsOf(reachDrainedAddon(req, res));
    answerList(req, res, ofOpenTeams(world, callerOf(res), drains), shape);
  });

  router.put("/addons/:addon/log-drains/:drain", (req, res) => {
    partnerOf(res);
    const addon = reachDrainedAddon(req, res);
    const drain = find(drainsOf(addon), req.params.drain);
    refuseClosedTeam(world, callerOf(res), world.apps.get(drain.appId)!);
    const url = readUrl(req, res);
    refuseDuplicate(url, drain.appId, drain);
    Object.assign(drain, { url, updatedAt: world.clock.now() });
    answer(res, shape(drain), drain);
  });

  router.post("/apps/:app/log-drains", (req, res) => {
    const app = reachDrainedApp(req, res);
    const url = readUrl(req, res);
    refuseDuplicate(url, app.id);
    const drain = addLogDrain(world, { url, addonId: ownAddonId(res), appId: app.id });
    answer(res.status(201), shape(drain), drain);
  });

  router.get("/apps/:app/log-drains", (req, res) => {
    answerList(req, res, seenDrains(res, reachDrainedApp(req, res)), shape);
  });

  router.get("/apps/:app/log-drains/:drain", (req, res) => {
    const drain = find(seenDrains(res, reachDrainedApp(req, res)), req.params.drain);
    answer(res, shape(drain), drain);
  });

  router.delete("/apps/:app/log-drains/:drain", (req, res) => {
    const drain = find(seenDrains(res, reachDrainedApp(req, res)), req.params.drain);
    if (drain.addonId !== ownAddonId(res)) throw forbidden("The log drain belongs to an add-on.");
    world.logDrains.remove(drain);
    answer(res, shape(drain), drain);
  });

  /** The add-on of a partner's token; null for a user, whose drains belong to no add-on. */
  function ownAddonId(res: Response): string | null {
    const caller = callerOf(res);
    return caller.kind === "partner" ? caller.addon.id : null;
  }

  /** Throws if the app already has another drain to this address. */
  function refuseDuplicate(url: string, appId: string, except?: LogDrainRecord): void {
    const others = world.logDrains.of("app", appId).filter((drain) => drain !== except);
    if (others.some((drain) => drain.url === url)) throw conflict("The app has a log drain to this URL.");
  }

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
  const isMeant = ({ id, url, token }: LogDrainRecord) =>
    id === idUrlOrToken.toLowerCase() || [url, token].includes(idUrlOrToken);
  const drain = drains.find(isMeant);
  if (!drain) throw notFound("There is no such log drain.");
  return drain;
}

function readUrl(req: Request, res: Response): string {
  const { url } = readObject(req, res);
  if (typeof url !== "string" || !isDrainUrl(url)) {
    throw invalid(
      "url must be a syslog, syslog+tls, http or https URL with a host, of at most 2048 characters.",
    );
  }
  return url;
}
