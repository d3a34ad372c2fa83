import { Router } from "express";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { addonShape } from "../shapes/addon.ts";
import { markDeprovisioned, markProvisioned } from "../world/addon-life.ts";
import { answer } from "./answer.ts";
import { callerOf, partnerOf } from "./caller.ts";
import { reachAddon } from "./reach.ts";

/** How the partner ends an asynchronous provision: it reports it done, or gives it up (assumed, section 2). */
export function addonActionEndpoints({ world }: Platform): Router {
  const router = Router();

  router.post("/addons/:addon/actions/provision", (req, res) => {
    partnerOf(res);
    const addon = reachAddon(world, callerOf(res), req.params.addon);
    if (addon.state !== "provisioning") throw invalid(`The add-on is ${addon.state}, not provisioning.`);
    markProvisioned(world, addon);
    answer(res, addonShape(world, addon), addon);
  });

  router.post("/addons/:addon/actions/deprovision", (req, res) => {
    partnerOf(res);
    const addon = reachAddon(world, callerOf(res), req.params.addon);
    if (addon.state !== "provisioning" && addon.state !== "deprovisioning") {
      throw invalid(`The add-on is ${addon.state}, neither provisioning nor deprovisioning.`);
    }
    markDeprovisioned(world, addon);
    answer(res, addonShape(world, addon), addon);
  });

  return router;
}
