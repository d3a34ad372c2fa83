import { Router } from "express";
import type { Platform } from "../platform.ts";
import { addonShape } from "../shapes/addon.ts";
import type { AddonRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { addonsOn, reachableAddons, reachAddon, reachApp, reachUser } from "./reach.ts";

/**
 * "Add-on resources" of the partner endpoints. Two limits apply: "only instances of the same add-on service", and
 * within it "only data of its own resource" ("Authentication" 6). So a partner's lists hold only the token's own
 * resource.
 */
export function addonEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (addon: AddonRecord) => addonShape(world, addon);

  router.get("/addons/:addon", (req, res) => {
    const addon = reachAddon(world, callerOf(res), req.params.addon);
    answer(res, shape(addon), addon);
  });

  router.get("/addons", (req, res) => {
    answerList(req, res, reachableAddons(world, callerOf(res)), shape);
  });

  router.get("/users/:user/addons", (req, res) => {
    reachUser(world, callerOf(res), req.params.user);
    answerList(req, res, reachableAddons(world, callerOf(res)), shape);
  });

  router.get("/apps/:app/addons", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, addonsOn(world, callerOf(res), app), shape);
  });

  return router;
}
