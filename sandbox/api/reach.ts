import { forbidden, notFound } from "../refusal.ts";
import type { AddonRecord, AppRecord, AttachmentRecord, UserRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

/** A token reaches its own add-on resource and no other ("Authentication" 6). */
export function reachAddon(world: World, caller: AddonRecord, idOrName: string): AddonRecord {
  const addon = world.addons.find(idOrName) ?? world.addons.get(idOrName.toLowerCase());
  if (!addon) throw notFound("There is no such add-on.");
  if (addon !== caller) throw forbidden("This token belongs to another add-on resource.");
  refuseClosedTeam(world, world.apps.get(addon.appId)!);
  return addon;
}

/** A token reaches the apps its add-on is attached to ("Add-on partner endpoints"). */
export function reachApp(world: World, caller: AddonRecord, idOrName: string): AppRecord {
  const app = world.apps.find(idOrName) ?? world.apps.get(idOrName.toLowerCase());
  if (!app) throw notFound("There is no such app.");
  if (!isAttached(world, caller, app)) throw forbidden("The add-on is not attached to this app.");
  refuseClosedTeam(world, app);
  return app;
}

/** The apps a token reaches, each once. */
export function reachableApps(world: World, caller: AddonRecord): AppRecord[] {
  const ids = new Set(attachmentsOf(world, caller).map((attachment) => attachment.appId));
  return [...ids].map((id) => world.apps.get(id)!).filter((app) => !isClosedTeams(world, app));
}

export function attachmentsOf(world: World, caller: AddonRecord): AttachmentRecord[] {
  return world.attachments.of("addon", caller.id);
}

export function isAttached(world: World, caller: AddonRecord, app: AppRecord): boolean {
  return attachmentsOf(world, caller).some((attachment) => attachment.appId === app.id);
}

/** `~` for the account the add-on belongs to, or that account's e-mail or id. */
export function reachUser(world: World, caller: AddonRecord, emailOrId: string): UserRecord {
  const self = world.users.get(world.apps.get(caller.appId)!.ownerId)!;
  if (emailOrId === "~") return self;
  const user = world.users.find(emailOrId);
  if (!user) throw notFound("There is no such user.");
  if (user !== self) throw forbidden("This token does not reach another account.");
  return user;
}

/** A team may turn off third-party access to what it owns ("Authentication" 10). */
function isClosedTeams(world: World, app: AppRecord): boolean {
  return app.teamId !== null && !world.settings.thirdPartyOAuth;
}

function refuseClosedTeam(world: World, app: AppRecord): void {
  if (isClosedTeams(world, app))
    throw forbidden("The team has turned off third-party OAuth access to its resources.");
}
