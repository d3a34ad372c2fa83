import { goOnWithSetup } from "./app-life.ts";
import { invalidateGrants } from "./grants.ts";
import type { AddonRecord } from "./records.ts";
import { endAuthorizations } from "./tokens.ts";
import type { World } from "./world.ts";

const GIVE_UP_MS = 12 * 60 * 60 * 1000;

/** It is there. What was said while it was waited for, "in a few minutes", is no longer so; `message` is, if any. */
export function markProvisioned(world: World, addon: AddonRecord, message: string | null = null): void {
  addon.state = "provisioned";
  addon.provisionMessage = message;
  addon.updatedAt = world.clock.now();
  settleApp(world, addon);
}

/** A provision that had failed was answered after all, with a success that goes on later: its time begins anew. */
export function markBegunAnew(world: World, addon: AddonRecord): void {
  addon.state = "provisioning";
  addon.requestedAt = world.clock.now();
}

/** The provision failed: nothing of it works any more. It keeps its names: without an answer it may be delivered again. */
export function markFailed(world: World, addon: AddonRecord, because: string): void {
  addon.state = "deprovisioned";
  addon.provisionMessage = because;
  addon.updatedAt = world.clock.now();
  endAuthorizations(world, addon.id, because);
  settleApp(world, addon);
}

/** The service has said no, which no later answer takes back. */
export function markRefused(world: World, addon: AddonRecord, because: string): void {
  addon.isRefused = true;
  leaveApps(world, addon);
  markFailed(world, addon, because);
}

/** The resource has lived and is gone, from the apps too; its tokens live as long as the add-on, no longer. */
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

function leaveApps(world: World, addon: AddonRecord): void {
  for (const attachment of world.attachments.of("addon", addon.id)) world.attachments.remove(attachment);
  for (const drain of world.logDrains.of("addon", addon.id)) world.logDrains.remove(drain);
}

/** An app may have waited for this. */
function settleApp(world: World, addon: AddonRecord): void {
  const app = world.apps.get(addon.appId);
  if (app) goOnWithSetup(world, app);
}

/** The platform waits 12 hours for an asynchronous provision (assumed, section 2); looked at on every access. */
export function giveUpIfOverdue(world: World, addon: AddonRecord): AddonRecord {
  if (addon.state === "provisioning" && world.clock.now() - addon.requestedAt >= GIVE_UP_MS) {
    markDeprovisioned(world, addon, "The provision was not finished within 12 hours.");
    addon.isUntold = true;
  }
  return addon;
}

/** Merges config by name; null removes (assumed, section 5). Nothing changes when nothing differs. */
export function mergeConfig(
  world: World,
  addon: AddonRecord,
  changes: Iterable<[string, string | null]>,
): void {
  for (const [name, value] of changes) {
    if (value === (addon.config[name] ?? null)) continue;
    if (value === null) delete addon.config[name];
    else addon.config[name] = value;
    addon.updatedAt = world.clock.now();
  }
}

/** The rule of {@link isConfigVarName}, for those who broke it. */
export const CONFIG_VAR_NAMES =
  "A config var's name consists of letters, digits and underscores, and begins with a letter, or with one underscore and a letter.";

/** Whether an app can have a config var of this name. */
export function isConfigVarName(name: string): boolean {
  return /^_?[A-Za-z][A-Za-z0-9_]*$/.test(name);
}

/** Whether the add-on's manifest allows a config var of this name: as it lists them, and with their prefix. */
export function isDeclared(world: World, name: string): boolean {
  const { config_vars: declared, config_vars_prefix: prefix } = world.settings.addonManifest ?? {};
  return (declared === undefined || declared.includes(name)) && name.startsWith(prefix ?? "");
}
