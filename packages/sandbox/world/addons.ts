import { randomUUID } from "node:crypto";
import { conflict, invalid } from "../refusal.ts";
import { attach } from "./attachments.ts";
import { newName } from "./identity.ts";
import type { AddonRecord, AppRecord } from "./records.ts";
import type { World } from "./world.ts";

/** The customer's choices. */
export interface AddonChoice {
  plan: string;
  region?: string | undefined;
  options?: Record<string, unknown> | undefined;
  /** The add-on's own name; absent: one is generated. */
  name?: string | undefined;
  /** The attachment's name. */
  as?: string | undefined;
}

/** Whether the sandbox was reset since the add-on was installed. */
export function isForgotten(world: World, addon: AddonRecord): boolean {
  return world.addons.get(addon.id) !== addon;
}

/** Creates an add-on and attaches it to an app; the partner does not know about it yet. */
export function addAddon(world: World, app: AppRecord, { plan, region, options, name, as }: AddonChoice) {
  if (name !== undefined) checkAddonName(world, name);
  const now = world.clock.now();
  const addon: AddonRecord = {
    id: randomUUID(),
    name: name ?? newName(world.settings.addonId, (taken) => world.addons.find(taken) !== undefined),
    state: "provisioning",
    appId: app.id,
    plan,
    requestedPlan: plan,
    region: region ?? app.region,
    options: options ?? {},
    config: {},
    providerId: null,
    provisionMessage: null,
    requestedAt: now,
    deprovisionedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  // Attach first, because that can be refused, so that nothing is left half done.
  attach(world, addon, app, as);
  return world.addons.add(addon);
}

/** Renames an add-on; its id, its attachments and its config vars stay. */
export function renameAddon(world: World, addon: AddonRecord, name: string): void {
  if (name === addon.name) return;
  checkAddonName(world, name);
  world.addons.rename(addon, () => Object.assign(addon, { name, updatedAt: world.clock.now() }));
}

function checkAddonName(world: World, name: string): void {
  if (!/^[a-zA-Z][A-Za-z0-9_-]*$/.test(name))
    throw invalid("An add-on's name consists of letters, digits, - and _, and begins with a letter.");
  if (world.addons.find(name)) throw conflict(`The name ${name} is already taken.`);
}
