import { randomUUID } from "node:crypto";
import { conflict, invalid } from "../refusal.ts";
import type { AddonRecord, AppRecord, AttachmentRecord } from "./records.ts";
import type { World } from "./world.ts";

/** Whether the name is valid for an attachment. */
export function isAttachmentName(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
}

/** Attaches an add-on to an app, under a name that is free in that app. */
export function attach(world: World, addon: AddonRecord, app: AppRecord, wish?: string): AttachmentRecord {
  if (addon.state === "deprovisioned") throw invalid("The add-on is deprovisioned.");
  const isTaken = (name: string) => world.attachments.find(`${app.id}/${name}`) !== undefined;
  if (wish !== undefined && !isAttachmentName(wish)) {
    throw invalid(
      "An attachment's name consists of upper-case letters, digits and underscores, and begins with a letter.",
    );
  }
  if (wish !== undefined && isTaken(wish)) throw conflict(`The app already has an attachment named ${wish}.`);
  const now = world.clock.now();
  return world.attachments.add({
    id: randomUUID(),
    name: wish ?? freeName(world, app, isTaken),
    addonId: addon.id,
    appId: app.id,
    createdAt: now,
    updatedAt: now,
  });
}

function freeName(world: World, app: AppRecord, isTaken: (name: string) => boolean): string {
  const base = world.settings.addonId.toUpperCase().replace(/[^A-Z0-9]/g, "_");
  if (!isTaken(base)) return base;
  for (let number = world.attachments.count("app", app.id) + 1; ; number++) {
    if (!isTaken(`${base}_${number}`)) return `${base}_${number}`;
  }
}

/** An app's config vars: its own, and those of all add-ons attached to it; the add-on attached last wins. */
export function configVarsOf(world: World, app: AppRecord): Record<string, string> {
  return { ...app.configVars, ...addonConfigOf(world, app) };
}

/** Only the config vars set by add-ons. */
export function addonConfigOf(world: World, app: AppRecord): Record<string, string> {
  const configs = world.attachments
    .of("app", app.id)
    .map((attachment) => world.addons.get(attachment.addonId))
    .filter((addon) => addon !== undefined && addon.state !== "deprovisioned")
    .map((addon) => addon?.config);
  return Object.assign({}, ...configs) as Record<string, string>;
}
