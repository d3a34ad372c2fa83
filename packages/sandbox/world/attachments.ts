import { randomUUID } from "node:crypto";
import { conflict, invalid } from "../refusal.ts";
import { ATTACHMENT_NAMES, defaultName, freeName, isAttachmentName, nameInApp } from "./attachment-names.ts";
import type { AddonRecord, AppRecord, AttachmentRecord } from "./records.ts";
import { noteRelease } from "./releases.ts";
import type { World } from "./world.ts";

/**
 * Attaches an add-on to an app, under a name that is free in that app. Refuses what would give the app two config vars of one
 * name.
 */
export function attach(world: World, addon: AddonRecord, app: AppRecord, wish?: string): AttachmentRecord {
  if (addon.state === "deprovisioned") throw invalid("The add-on is deprovisioned.");
  const isTaken = (name: string) => world.attachments.find(`${app.id}/${name}`) !== undefined;
  if (wish !== undefined && !isAttachmentName(wish)) throw invalid(ATTACHMENT_NAMES);
  if (wish !== undefined && isTaken(wish)) throw conflict(`The app already has an attachment named ${wish}.`);
  const name = wish ?? freeName(defaultName(world), isTaken);
  const { config_vars: declared = [] } = world.settings.addonManifest ?? {};
  const there = namesIn(world, app);
  for (const each of new Set([...declared, ...Object.keys(addon.config)])) {
    const inApp = nameInApp(world, name, each);
    if (there.has(inApp)) {
      throw conflict(
        `The app already has a config var ${inApp}. Attach the add-on under another name, or remove the config var.`,
      );
    }
  }
  const now = world.clock.now();
  noteRelease(world, app, `Attach ${name}`);
  return world.attachments.add({
    id: randomUUID(),
    name,
    addonId: addon.id,
    appId: app.id,
    createdAt: now,
    updatedAt: now,
  });
}

/** Takes an attachment from its app, and with it the config vars that the add-on has there. */
export function detach(world: World, attachment: AttachmentRecord): void {
  world.attachments.remove(attachment);
  noteRelease(world, world.apps.get(attachment.appId)!, `Detach ${attachment.name}`);
}

/**
 * The config var of an app that an add-on's config var of this name would replace, as the app has it; null if it replaces
 * none.
 */
export function takenBy(world: World, addon: AddonRecord, declared: string): string | null {
  for (const attachment of world.attachments.of("addon", addon.id)) {
    const name = nameInApp(world, attachment.name, declared);
    if (namesIn(world, world.apps.get(attachment.appId)!, attachment).has(name)) return name;
  }
  return null;
}

/** The names that an app's config vars have, or will have once its add-ons set them. `but`: without those of this attachment. */
function namesIn(world: World, app: AppRecord, but?: AttachmentRecord): Set<string> {
  const names = new Set(Object.keys(app.configVars ?? {}));
  for (const attachment of attachmentsIn(world, app))
    if (attachment !== but) for (const name of namesOf(world, attachment)) names.add(name);
  return names;
}

function namesOf(world: World, { name, addonId }: AttachmentRecord): string[] {
  const { config_vars: declared = [] } = world.settings.addonManifest ?? {};
  const { config } = world.addons.get(addonId)!;
  return [...declared, ...Object.keys(config)].map((each) => nameInApp(world, name, each));
}

/** Those of add-ons that have not ended. */
const attachmentsIn = (world: World, app: AppRecord) =>
  world.attachments.of("app", app.id).filter(({ addonId }) => {
    const addon = world.addons.get(addonId);
    return addon !== undefined && addon.state !== "deprovisioned";
  });

/** An app's config vars: its own, and those of all add-ons attached to it. */
export function configVarsOf(world: World, app: AppRecord): Record<string, string> {
  return { ...app.configVars, ...addonConfigOf(world, app) };
}

/** Only the config vars set by add-ons, by the names that they have in the app. */
export function addonConfigOf(world: World, app: AppRecord): Record<string, string> {
  const vars = attachmentsIn(world, app).flatMap(({ name, addonId }) =>
    Object.entries(world.addons.get(addonId)!.config).map(
      ([declared, value]) => [nameInApp(world, name, declared), value] as const,
    ),
  );
  return Object.fromEntries(vars);
}

/** Whether a config var of this name belongs to an add-on of the app, also while that has not set it. */
export function belongsToAddon(world: World, app: AppRecord, name: string): boolean {
  return attachmentsIn(world, app).some((attachment) => namesOf(world, attachment).includes(name));
}

/** The names of an add-on's config vars in the app on which it was installed. */
export function varsOnItsApp(world: World, addon: AddonRecord): string[] {
  const own = world.attachments.of("addon", addon.id).find(({ appId }) => appId === addon.appId);
  return Object.keys(addon.config).map((name) => (own ? nameInApp(world, own.name, name) : name));
}
