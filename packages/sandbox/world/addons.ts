import { randomUUID } from "node:crypto";
import { attach } from "./attachments.ts";
import { newName } from "./identity.ts";
import type { AddonRecord, AppRecord } from "./records.ts";
import type { World } from "./world.ts";

/** The customer's choices. */
export interface AddonChoice {
  plan: string;
  region?: string | undefined;
  options?: Record<string, unknown> | undefined;
  /** The attachment's name. */
  as?: string | undefined;
}

/** Whether the sandbox was reset since the add-on was installed. */
export function isForgotten(world: World, addon: AddonRecord): boolean {
  return world.addons.get(addon.id) !== addon;
}

/** Creates an add-on and attaches it to an app; the partner does not know about it yet. */
export function addAddon(world: World, app: AppRecord, { plan, region, options, as }: AddonChoice) {
  const now = world.clock.now();
  const addon: AddonRecord = {
    id: randomUUID(),
    name: newName(world.settings.addonId, (name) => world.addons.find(name) !== undefined),
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
