import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { refuseWhileHeld } from "../processes/history.ts";
import { type ConfigVar, isPublic, notYetSet, openConfig } from "../resources/config-vars.ts";
import { nameInApp } from "../resources/names-in-app.ts";
import type { ResourceRow } from "../resources/rows.ts";
import { isAlive } from "../resources/states.ts";
import { findAttachedAs } from "../resources/step-store.ts";
import { changeConfig, findResource, lockedResource } from "../resources/store.ts";
import { Secret } from "../secret.ts";
import { UnknownResource } from "./errors.ts";

export async function getConfig({ platformFor }: Context, uuid: string): Promise<ConfigVar[]> {
  return inOrder(await platformFor(uuid).config.get());
}

/**
 * Changes the named config vars on the platform (null removes one) and in the stored full set, so that a later push
 * does not undo the change.
 */
export async function setConfig(
  ctx: Context,
  uuid: string,
  changes: readonly ConfigVar[],
): Promise<ConfigVar[]> {
  const { config } = ctx.platformFor(uuid);
  await config.update([...changes]);
  await keepInStep(ctx, uuid, changes);
  // What a push or a plan change sent in between is what was wanted before, and may have reached the platform after ours.
  const now = await config.get();
  return inOrder(notYetSet(changes, now).length > 0 ? await config.update([...changes]) : now);
}

function keepInStep({ db, vault }: Context, uuid: string, changes: readonly ConfigVar[]): Promise<void> {
  return retryWhileUnreachable(() =>
    db.transaction(async (tx) => {
      const resource = await lockedResource(tx, uuid);
      if (resource && isAlive(resource.state)) await changeConfig(tx, vault, resource, changes);
    }),
  );
}

function inOrder(config: readonly ConfigVar[]): ConfigVar[] {
  return config
    .map(({ name, value }) => ({ name, value }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * One config var as the service wants it and as the platform has it; null means that it does not exist there. `extra`:
 * set from here once, but no longer wanted or declared. `foreign`: never set from here, such as a var of an
 * installation from before the kit.
 */
export interface VarDifference {
  name: string;
  /** The name that the app has it under, where that is another one. */
  inApp?: string;
  state: "same" | "differs" | "missing" | "extra" | "foreign";
  /** A text of one that is public. */
  value: Secret | string | null;
  platform: Secret | string | null;
}

const plain = (value: Secret | string | null) => (value instanceof Secret ? value.reveal() : value);

/** Compares what the vendor's service wants with what the platform has (platform document, "Add-on configuration"). */
export async function diffConfig(ctx: Context, uuid: string): Promise<VarDifference[]> {
  const resource = await findResource(ctx.db, uuid);
  if (!resource) throw new UnknownResource(uuid);
  const vars = comparedVars(ctx, resource, await ctx.platformFor(uuid).config.get());
  const attachedAs = await findAttachedAs(ctx.db, uuid);
  return vars.map((each) => {
    const inApp = nameInApp(ctx.offer, attachedAs, each.name);
    return inApp === each.name ? each : { ...each, inApp };
  });
}

/** What we want of a resource's config vars against what the platform has. Throws if ours cannot be decrypted. */
export function comparedVars(
  { vault, offer }: Pick<Context, "vault" | "offer">,
  resource: Pick<ResourceRow, "uuid" | "sealedConfig">,
  atPlatform: readonly ConfigVar[],
): VarDifference[] {
  // A var that is no longer declared is not wanted either: the platform would accept no value for it.
  const ours = new Map(
    openConfig(vault, resource).map(({ name, value }) => [
      name,
      offer.configVars.includes(name) ? value : null,
    ]),
  );
  const theirs = new Map(atPlatform.map(({ name, value }) => [name, value]));
  const shown = (name: string, value: string | null | undefined) =>
    value == null ? null : isPublic(offer, name) ? value : new Secret(value);
  return [...new Set([...ours.keys(), ...theirs.keys()])].sort().flatMap((name) => {
    const state = stateOf(ours.get(name), theirs.get(name) ?? null);
    return state
      ? [{ name, state, value: shown(name, ours.get(name)), platform: shown(name, theirs.get(name)) }]
      : [];
  });
}

/** `ours` is undefined for a var that was never set from here. Null: it is wanted nowhere and exists nowhere. */
function stateOf(ours: string | null | undefined, theirs: string | null): VarDifference["state"] | null {
  if (ours == null && theirs === null) return null;
  if (ours == null) return ours === null ? "extra" : "foreign";
  if (theirs === null) return "missing";
  return ours === theirs ? "same" : "differs";
}

export function differing(vars: readonly VarDifference[]): VarDifference[] {
  return vars.filter(({ state }) => state !== "same" && state !== "foreign");
}

/**
 * Makes the platform's config vars as the service wants them. Answers the names that were changed. Throws `held` after a
 * restore: what is wanted here may be what was retired since.
 */
export async function pushConfig(ctx: Context, uuid: string): Promise<string[]> {
  await refuseWhileHeld(ctx.db);
  const changed = new Set<string>();
  for (let sent: ConfigVar[] = []; ;) {
    const changes = differing(await diffConfig(ctx, uuid)).map(({ name, value }): ConfigVar => ({
      name,
      value: plain(value),
    }));
    // What is wanted may have changed meanwhile, and its new values have reached the platform before ours.
    if (changes.length === 0 || isDeepStrictEqual(changes, sent)) return [...changed].sort();
    await ctx.platformFor(uuid).config.update(changes);
    for (const { name } of changes) changed.add(name);
    sent = changes;
  }
}

/**
 * The other way round: takes over what the platform has of the vars that your service sets, as wanted from now on.
 * Answers the names that were changed here.
 */
export async function pullConfig(ctx: Context, uuid: string): Promise<string[]> {
  const changes = differing(await diffConfig(ctx, uuid)).map(({ name, platform }): ConfigVar => ({
    name,
    value: plain(platform),
  }));
  if (changes.length > 0) await keepInStep(ctx, uuid, changes);
  return changes.map(({ name }) => name);
}

export const changedInWords = (names: readonly string[]) =>
  names.length > 0 ? `Changed: ${names.join(", ")}.` : "Nothing had to be changed.";
