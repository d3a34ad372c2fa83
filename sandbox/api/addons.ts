import { Router } from "express";
import type { Platform } from "../platform.ts";
import { addonShape } from "../shapes/addon.ts";
import type { AddonRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachableApps, reachAddon, reachApp, reachUser } from "./reach.ts";

/** "Add-on resources" of the partner endpoints: lists hold the caller's own resource, never another. */
export function addonEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (addon: AddonRecord) => addonShape(world, addon);

  router.get("/addons/:addon", (req, res) => {
    const addon = reachAddon(world, callerOf(res), req.params.addon);
    answer(res, shape(addon), addon);
  });

  router.get("/addons", (req, res) => {
    answerList(req, res, ownAddons(callerOf(res)), shape);
  });

  router.get("/users/:user/addons", (req, res) => {
    reachUser(world, callerOf(res), req.params.user);
    answerList(req, res, ownAddons(callerOf(res)), shape);
  });

  router.get("/apps/:app/addons", (req, res) => {
    reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, [callerOf(res)], shape);
  });

  /** Empty when the app it belongs to is out of reach. */
  function ownAddons(caller: AddonRecord): AddonRecord[] {
    return reachableApps(world, caller).some((app) => app.id === caller.appId) ? [caller] : [];
  }

  return router;
}
