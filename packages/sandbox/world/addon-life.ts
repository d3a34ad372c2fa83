import { goOnWithSetup } from "./app-life.ts";
import { invalidateGrants } from "./grants.ts";
import type { AddonRecord } from "./records.ts";
import { noteReleases } from "./releases.ts";
import { endAuthorizations } from "./tokens.ts";
import type { World } from "./world.ts";

const GIVE_UP_MS = 12 * 60 * 60 * 1000;

/**
 * Marks the add-on provisioned. `message` replaces the earlier one, such as "in a few minutes", which is no longer
 * true.
 */
export function markProvisioned(world: World, addon: AddonRecord, message: string | null = null): void {
  addon.state = "provisioned";
  addon.provisionMessage = message;
  addon.updatedAt = world.clock.now();
  settleApp(world, addon);
}

/** A failed provision got a late 202 after all: it is provisioning again, and its 12 hours start again. */
export function markBegunAnew(world: World, addon: AddonRecord): void {
  addon.state = "provisioning";
  addon.requestedAt = world.clock.now();
}

/**
 * Marks the provision failed and ends its tokens. Its attachments stay, because a provision without an answer may be
 * delivered again.
 */
export function markFailed(world: World, addon: AddonRecord, because: string): void {
  addon.state = "deprovisioned";
  addon.provisionMessage = because;
  addon.updatedAt = world.clock.now();
  endAuthorizations(world, addon.id, because);
  settleApp(world, addon);
}

/** The service has refused the provision for good; no later answer changes that. */
export function markRefused(world: World, addon: AddonRecord, because: string): void {
  addon.isRefused = true;
  leaveApps(world, addon);
  markFailed(world, addon, because);
}

/** Marks a resource deprovisioned that had existed: removes it from its apps, and ends its grants and tokens. */
export function markDeprovisioned(
  world: World,
  addon: AddonRecord,
  because = "The add-on was deprovisioned.",
): void {
  addon.state = "deprovisioned";
  addon.deprovisionedAt ??= world.clock.now();
  addon.updatedAt = world.clock.now();
  invalidateGrants(world, addon.id, because);
  endAuthorizations(world, addon.id, because);
  leaveApps(world, addon);
  settleApp(world, addon);
}

/**
 * The add-on ends without a deprovision. Its access tokens live on until they expire, but find no add-on; its refresh
 * token "lives as long as the add-on" ("Token response").
 */
export function markVanished(world: World, addon: AddonRecord): void {
  const because = "The add-on no longer exists.";
  addon.isVanished = true;
  addon.state = "deprovisioned";
  addon.deprovisionedAt ??= world.clock.now();
  addon.updatedAt = world.clock.now();
  invalidateGrants(world, addon.id, because);
  for (const authorization of world.authorizations.of("addon", addon.id))
    authorization.endedBecause ??= because;
  leaveApps(world, addon);
  settleApp(world, addon);
}

/** Removes the add-on's attachments and log drains from all apps. */
export function leaveApps(world: World, addon: AddonRecord): void {
  noteReleases(world, addon, "Remove");
  for (const attachment of world.attachments.of("addon", addon.id)) world.attachments.remove(attachment);
  for (const drain of world.logDrains.of("addon", addon.id)) world.logDrains.remove(drain);
}

/** The app's setup may have been waiting for this add-on. */
function settleApp(world: World, addon: AddonRecord): void {
  const app = world.apps.get(addon.appId);
  if (app) goOnWithSetup(world, app);
}

/** Gives up an asynchronous provision after 12 hours (assumed, section 2); checked at every access. */
export function giveUpIfOverdue(world: World, addon: AddonRecord): AddonRecord {
  if (addon.state === "provisioning" && world.clock.now() - addon.requestedAt >= GIVE_UP_MS) {
    markDeprovisioned(world, addon, "The provision was not finished within 12 hours.");
    addon.isUntold = true;
    addon.isGivenUp = true;
  }
  return addon;
}

/** Merges config by name; null removes (assumed, section 5). `updatedAt` changes only if a value does. */
export function mergeConfig(
  world: World,
  addon: AddonRecord,
  changes: Iterable<[string, string | null]>,
): void {
  let isChanged = false;
  for (const [name, value] of changes) {
    if (value === (Object.hasOwn(addon.config, name) ? addon.config[name] : null)) continue;
    if (value === null) delete addon.config[name];
    else addon.config[name] = value;
    addon.updatedAt = world.clock.now();
    isChanged = true;
  }
  if (isChanged) noteReleases(world, addon, "Set the config vars of");
}

/** The rule of {@link isConfigVarName} as a sentence for error messages. */
export const CONFIG_VAR_NAMES =
  "A config var's name consists of letters, digits and underscores, and begins with a letter, or with one underscore and a letter.";

/** Whether an app can have a config var of this name. */
export function isConfigVarName(name: string): boolean {
  return /^_?[A-Za-z][A-Za-z0-9_]*$/.test(name);
}

/** Whether the add-on's manifest allows a config var of this name: it must be listed and have the prefix. */
export function isDeclared(world: World, name: string): boolean {
  const { config_vars: declared, config_vars_prefix: prefix } = world.settings.addonManifest ?? {};
  return (declared === undefined || declared.includes(name)) && name.startsWith(prefix ?? "");
}
