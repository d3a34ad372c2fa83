import { Router } from "express";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { CONFIG_VAR_NAMES, isConfigVarName, isDeclared, mergeConfig } from "../world/addon-life.ts";
import { takenBy } from "../world/attachments.ts";
import type { AddonRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { answer } from "./answer.ts";
import { callerOf, partnerOf } from "./caller.ts";
import { readObject } from "./json-body.ts";
import { reachAddon } from "./reach.ts";

/** "Add-on configuration" of the partner endpoints; PATCH merges by name, null removes (assumed, section 5). */
export function addonConfigEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (addon: AddonRecord) =>
    Object.entries(addon.config).map(([name, value]) => ({ name, value }));

  router.get("/addons/:addon/config", (req, res) => {
    const addon = reachAddon(world, callerOf(res), req.params.addon);
    answer(res, shape(addon), addon);
  });

  router.patch("/addons/:addon/config", (req, res) => {
    partnerOf(res);
    const addon = reachAddon(world, callerOf(res), req.params.addon);
    mergeConfig(world, addon, readChanges(world, addon, readObject(req, res)["config"]));
    answer(res, shape(addon), addon);
  });

  return router;
}

/**
 * All or nothing: one bad element refuses the whole change. A name that is not declared may still be removed, because a
 * new manifest may have dropped it.
 */
function readChanges(world: World, addon: AddonRecord, config: unknown): Map<string, string | null> {
  if (!Array.isArray(config)) throw invalid("config must be an array of objects with name and value.");
  const changes = new Map<string, string | null>();
  for (const element of config as unknown[]) {
    const { name, value } = (element ?? {}) as { name?: unknown; value?: unknown };
    if (typeof name !== "string" || !isConfigVarName(name)) {
      throw invalid(`Each element of config needs a name. ${CONFIG_VAR_NAMES}`);
    }
    if (value !== null && typeof value !== "string")
      throw invalid(`The value of ${name} must be a string or null.`);
    if (changes.has(name)) throw invalid(`${name} is there more than once.`);
    if (value !== null && !isDeclared(world, name))
      throw invalid(`${name} is not among the config vars of the add-on's manifest.`);
    const taken = value === null ? null : takenBy(world, addon, name);
    if (taken !== null)
      throw invalid(`An app has a config var ${taken} already, which ${name} would replace.`);
    changes.set(name, value);
  }
  return changes;
}
