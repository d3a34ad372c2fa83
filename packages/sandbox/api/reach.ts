import { forbidden, notFound } from "../refusal.ts";
import type { AddonRecord, AppRecord, AttachmentRecord, UserRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import type { Caller } from "./caller.ts";

/**
 * A partner's token reaches only its own add-on resource ("Authentication" 6); a user's token reaches the add-ons of
 * their apps. An add-on that exists out of reach gives an authorization error ("Errors": "Add-on calls an endpoint
 * outside its access").
 */
export function reachAddon(world: World, caller: Caller, idOrName: string): AddonRecord {
  const addon = world.addons.find(idOrName);
  if (!addon || addon.isVanished) throw notFound("There is no such add-on.");
  const app = world.apps.get(addon.appId)!;
  const isInReach = caller.kind === "partner" ? addon === caller.addon : isUsers(world, caller.user, app);
  if (!isInReach) throw forbidden("This add-on is out of the token's reach.");
  refuseClosedTeam(world, caller, app);
  return addon;
}

/**
 * A partner's token reaches the apps its add-on is attached to ("Add-on partner endpoints"); a user's token reaches
 * their apps.
 */
export function reachApp(world: World, caller: Caller, idOrName: string): AppRecord {
  const app = world.apps.find(idOrName);
  if (!app || app.destroyedAt !== undefined) throw notFound("There is no such app.");
  const isInReach =
    caller.kind === "partner" ? isAttached(world, caller.addon, app) : isUsers(world, caller.user, app);
  if (!isInReach) throw forbidden("This app is out of the token's reach: the add-on is not attached to it.");
  refuseClosedTeam(world, caller, app);
  return app;
}

/** The apps that a token reaches, without duplicates. */
export function reachableApps(world: World, caller: Caller): AppRecord[] {
  const ids =
    caller.kind === "partner"
      ? attachmentsOf(world, caller.addon).map(({ appId }) => appId)
      : appIdsOf(world, caller.user);
  return [...new Set(ids)].map((id) => world.apps.get(id)!).filter((app) => !isClosed(world, caller, app));
}

/** Whether the caller may see what belongs to an add-on: its partner may, and so may any user who reaches the app. */
export function sees(caller: Caller, addonId: string | null): boolean {
  return caller.kind === "user" || caller.addon.id === addonId;
}

/** For a partner its own add-on, even if its app is destroyed; for a user the add-ons of the apps in reach. */
export function reachableAddons(world: World, caller: Caller): AddonRecord[] {
  const addons =
    caller.kind === "partner"
      ? [caller.addon]
      : reachableApps(world, caller).flatMap((app) => world.addons.of("app", app.id));
  return listedAddons(world, caller, addons);
}

/** The add-ons attached to an app, and those installed on it that are attached only elsewhere, without duplicates. */
export function addonsOn(world: World, caller: Caller, app: AppRecord): AddonRecord[] {
  const attached = world.attachments.of("app", app.id).map(({ addonId }) => world.addons.get(addonId)!);
  const addons = new Set([...attached, ...world.addons.of("app", app.id)]);
  return listedAddons(
    world,
    caller,
    [...addons].filter(({ id }) => sees(caller, id)),
  );
}

function listedAddons(world: World, caller: Caller, addons: AddonRecord[]): AddonRecord[] {
  return ofOpenTeams(
    world,
    caller,
    addons.filter(({ state }) => state !== "deprovisioned"),
  );
}

export function attachmentsOf(world: World, addon: AddonRecord): AttachmentRecord[] {
  return world.attachments.of("addon", addon.id);
}

function isAttached(world: World, addon: AddonRecord, app: AppRecord): boolean {
  return attachmentsOf(world, addon).some((attachment) => attachment.appId === app.id);
}

/** Finds an account by `~`, which is the account that the token acts for, or by that account's e-mail or id. */
export function reachUser(world: World, caller: Caller, emailOrId: string): UserRecord {
  const self =
    caller.kind === "user" ? caller.user : world.users.get(world.apps.get(caller.addon.appId)!.ownerId)!;
  if (emailOrId === "~") return self;
  const user = world.users.find(emailOrId.toLowerCase());
  if (!user) throw notFound("There is no such account.");
  if (user !== self) throw forbidden("This account is out of the token's reach.");
  return user;
}

/** The ids of a user's apps: those they own or collaborate on, and those of their teams. */
function appIdsOf(world: World, user: UserRecord): string[] {
  const worksOn = world.collaborators.of("user", user.id).map(({ appId }) => appId);
  const ofTeams = world.members.of("user", user.id).flatMap(({ teamId }) => world.apps.of("team", teamId));
  const standing = ofTeams.filter(({ destroyedAt }) => destroyedAt === undefined);
  return [...worksOn, ...standing.map(({ id }) => id)];
}

function isUsers(world: World, user: UserRecord, app: AppRecord): boolean {
  return (
    app.ownerId === user.id ||
    world.collaborators.of("app", app.id).some(({ userId }) => userId === user.id) ||
    (app.teamId !== null && world.members.of("team", app.teamId).some(({ userId }) => userId === user.id))
  );
}

/**
 * Whether the app's team has turned off third-party access to its resources, for "non-platform products"
 * ("Authentication" 10). This applies to a partner's service as well as to a client of the web flow, but not to a
 * user's own token.
 */
function isClosed(world: World, caller: Caller, app: AppRecord): boolean {
  if (app.teamId === null || world.settings.thirdPartyOAuth) return false;
  return caller.kind === "partner" || caller.consent.thirdParty !== null;
}

export function refuseClosedTeam(world: World, caller: Caller, app: AppRecord): void {
  if (isClosed(world, caller, app))
    throw forbidden("The team has turned off third-party OAuth access to its resources.");
}

/** Leaves out the rows of apps whose team has closed them to the caller. */
export function ofOpenTeams<Row extends { appId: string }>(world: World, caller: Caller, rows: Row[]): Row[] {
  return rows.filter(({ appId }) => !isClosed(world, caller, world.apps.get(appId)!));
}
