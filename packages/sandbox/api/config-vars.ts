import { Router } from "express";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { CONFIG_VAR_NAMES, isConfigVarName } from "../world/addon-life.ts";
import { belongsToAddon, configVarsOf } from "../world/attachments.ts";
import { noteRelease } from "../world/releases.ts";
import { answer } from "./answer.ts";
import { userOf } from "./caller.ts";
import { readObject } from "./json-body.ts";
import { reachApp } from "./reach.ts";

/**
 * `GET|PATCH /apps/{id}/config-vars`, for users' tokens only: the runtime secrets that distinguish the scopes (assumed,
 * section 7). PATCH merges by name and null removes. Config vars of an add-on cannot be changed.
 */
export function configVarEndpoints({ world }: Platform): Router {
  const router = Router();

  router.get("/apps/:app/config-vars", (req, res) => {
    const app = reachApp(world, userOf(res), req.params.app);
    answer(res, configVarsOf(world, app), app);
  });

  router.patch("/apps/:app/config-vars", (req, res) => {
    const app = reachApp(world, userOf(res), req.params.app);
    const changes = readChanges(readObject(req, res), (name) => belongsToAddon(world, app, name));
    const merged = Object.entries({ ...app.configVars, ...changes });
    app.configVars = Object.fromEntries(
      merged.filter((entry): entry is [string, string] => entry[1] !== null),
    );
    app.updatedAt = world.clock.now();
    if (Object.keys(changes).length > 0) noteRelease(world, app, `Change ${Object.keys(changes).join(", ")}`);
    answer(res, configVarsOf(world, app), app);
  });

  return router;
}

/** All or nothing: one bad member refuses the whole change. */
function readChanges(
  body: Record<string, unknown>,
  isOfAddon: (name: string) => boolean,
): Record<string, string | null> {
  for (const [name, value] of Object.entries(body)) {
    // An app.json may have set a config var of any name, which may be removed here.
    if (value !== null && !isConfigVarName(name)) throw invalid(CONFIG_VAR_NAMES);
    if (value !== null && typeof value !== "string")
      throw invalid(`The value of ${name} must be a string or null.`);
    if (isOfAddon(name)) throw invalid(`${name} belongs to an add-on.`);
  }
  return body as Record<string, string | null>;
}
