import { notFound } from "../refusal.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import type { AddonRecord, AppRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

export function findAddon(world: World, idOrName: string): AddonRecord {
  const addon = world.addons.find(idOrName);
  if (!addon) throw notFound(`There is no add-on ${idOrName}.`);
  return giveUpIfOverdue(world, addon);
}

export function findApp(world: World, idOrName: string): AppRecord {
  const app = world.apps.find(idOrName);
  if (!app || app.destroyedAt !== undefined) throw notFound(`There is no app ${idOrName}.`);
  return app;
}
