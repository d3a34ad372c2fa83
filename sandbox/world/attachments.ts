import { randomUUID } from "node:crypto";
import { conflict, invalid } from "../refusal.ts";
import type { AddonRecord, AppRecord, AttachmentRecord } from "./records.ts";
import type { World } from "./world.ts";

/** Attaches an add-on to an app, under a name that is free in that app. */
export function attach(world: World, addon: AddonRecord, app: AppRecord, wish?: string): AttachmentRecord {
  const taken = new Set(world.attachments.of("app", app.id).map((attachment) => attachment.name));
  if (wish !== undefined && !/^[A-Z][A-Z0-9_]*$/.test(wish)) {
    throw invalid("An attachment's name consists of upper-case letters, digits and underscores.");
  }
  if (wish !== undefined && taken.has(wish))
    throw conflict(`The app already has an attachment named ${wish}.`);
  const now = world.clock.now();
  return world.attachments.add({
    id: randomUUID(),
    name: wish ?? freeName(world.settings.addonId.toUpperCase().replace(/[^A-Z0-9]/g, "_"), taken),
    addonId: addon.id,
    appId: app.id,
    createdAt: now,
    updatedAt: now,
  });
}

function freeName(base: string, taken: Set<string>): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}_${count}`;
    if (!taken.has(name)) return name;
  }
}

/** An app's config vars: the configs of all add-ons attached to it, the last attached first to win. */
export function configVarsOf(world: World, app: AppRecord): Record<string, string> {
  const configs = world.attachments
    .of("app", app.id)
    .map((attachment) => world.addons.get(attachment.addonId))
    .filter((addon) => addon !== undefined && addon.state !== "deprovisioned")
    .map((addon) => addon?.config);
  return Object.assign({}, ...configs) as Record<string, string>;
}
