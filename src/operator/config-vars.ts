import type { Context } from "../context.ts";
import { openConfig, type ConfigVar } from "../resources/config-vars.ts";
import type { Offer } from "../resources/contract.ts";
import { changeConfig, findResource, lockedResource } from "../resources/store.ts";
import { UsedWrongly, UnknownResource } from "./errors.ts";
import { isDeepStrictEqual } from "node:util";
import { Secret } from "../secret.ts";

/** The config vars as the platform has them, by name. The values are the customer's secrets. */
export async function getConfig({ platformFor }: Context, uuid: string): Promise<ConfigVar[]> {
  return inOrder(await platformFor(uuid).config.get());
}

/**
 * Changes the named config vars on the platform (null removes one) and in the stored full set, so that a later push
 * does not undo the change. Throws {@link UsedWrongly} for names that the service does not declare; but a var that was
 * set from here before it was retired may be removed.
 */
export async function setConfig(
  ctx: Context,
  uuid: string,
  changes: readonly ConfigVar[],
): Promise<ConfigVar[]> {
  const resource = await findResource(ctx.db, uuid);
  const kept = resource ? openConfig(ctx.vault, resource) : [];
  const isRetired = ({ name, value }: ConfigVar) => value === null && kept.some((each) => each.name === name);
  checkNames(
    ctx.offer,
    changes.filter((each) => !isRetired(each)).map(({ name }) => name),
  );
  const { config } = ctx.platformFor(uuid);
  const before = resource?.sealedConfig ?? null;
  const now = await config.update([...changes]);
  const replaced = await keepInStep(ctx, uuid, changes);
  // A plan change may have stored another config meanwhile, and its vars may have reached the platform after ours: send
  // ours again.
  const isOvertaken = replaced !== null && !(before && replaced.equals(before));
  return inOrder(isOvertaken ? await config.update([...changes]) : now);
}

/** Stores the changes in the full set. Answers the sealed config that this replaced; null if there was none. */
function keepInStep({ db, vault }: Context, uuid: string, changes: readonly ConfigVar[]) {
  return db.transaction(async (tx) => {
    const resource = await lockedResource(tx, uuid);
    if (!resource || resource.state === "deprovisioned") return null;
    await changeConfig(tx, vault, resource, changes);
    return resource.sealedConfig;
  });
}

/** Throws {@link UsedWrongly} for names that the service does not declare: the platform would refuse them. */
export function checkNames({ configVars }: Offer, names: readonly string[]): void {
  const unknown = names.filter((name) => !configVars.includes(name));
  if (unknown.length === 0) return;
  throw new UsedWrongly(
    `${unknown.join(", ")}: not among the config vars of this service, which are ${configVars.join(", ")}.`,
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
  state: "same" | "differs" | "missing" | "extra" | "foreign";
  wanted: Secret | null;
  platform: Secret | null;
}

/**
 * Compares what the vendor's service wants for a resource with what the platform has, var by var, sorted by name
 * (platform document, "Add-on configuration"). Nothing is changed.
 */
export async function diffConfig(ctx: Context, uuid: string): Promise<VarDifference[]> {
  const ours = await wantedConfig(ctx, uuid);
  const theirs = new Map((await ctx.platformFor(uuid).config.get()).map(({ name, value }) => [name, value]));
  const shown = (value: string | null | undefined) => (value == null ? null : new Secret(value));
  return [...new Set([...ours.keys(), ...theirs.keys()])].sort().flatMap((name) => {
    const state = stateOf(ours.get(name), theirs.get(name) ?? null);
    const [wanted, platform] = [shown(ours.get(name)), shown(theirs.get(name))];
    return state ? [{ name, state, wanted, platform }] : [];
  });
}

/**
 * The wanted config vars by name; the value null means "not wanted". That includes a var which the service once set but
 * no longer declares: the platform would accept no value for it.
 */
export async function wantedConfig(
  { db, vault, offer }: Context,
  uuid: string,
): Promise<Map<string, string | null>> {
  const resource = await findResource(db, uuid);
  if (!resource) throw new UnknownResource(uuid);
  return new Map(
    openConfig(vault, resource).map(({ name, value }) => [
      name,
      offer.configVars.includes(name) ? value : null,
    ]),
  );
}

/**
 * `ours` is undefined for a var that was never set from here, and null for one that was removed. Answers null if the
 * var is wanted nowhere and exists nowhere.
 */
function stateOf(ours: string | null | undefined, theirs: string | null): VarDifference["state"] | null {
  if (ours == null && theirs === null) return null;
  if (ours == null) return ours === null ? "extra" : "foreign";
  if (theirs === null) return "missing";
  return ours === theirs ? "same" : "differs";
}

/** The vars that are not as wanted. */
export function differing(vars: readonly VarDifference[]): VarDifference[] {
  return vars.filter(({ state }) => state !== "same" && state !== "foreign");
}

/** A push changes a value that exists on the platform only if `overwrite` names it and it was set from here. */
export function isPushed({ name, state }: VarDifference, overwrite: readonly string[]): boolean {
  return state === "missing" || (isOver({ state }) && overwrite.includes(name));
}

/** Whether only `overwrite` lets a push change it: somebody may have changed it on the platform by hand. */
export function isOver({ state }: Pick<VarDifference, "state">): boolean {
  return state === "differs" || state === "extra";
}

/** What came of a push: `vars` as they were before it, and the names that it changed. */
export function pushInWords(vars: readonly VarDifference[], changed: readonly string[]): string {
  const kept = vars.filter((each) => isOver(each) && !changed.includes(each.name)).map(({ name }) => name);
  const said = [
    changed.length > 0 && `Changed: ${changed.join(", ")}.`,
    kept.length > 0 && `Kept as the platform has it: ${kept.join(", ")}.`,
  ];
  return said.filter(Boolean).join("\n") || "Nothing had to be changed.";
}

/** Sets what is missing on the platform and what `overwrite` names. Answers the names that were changed. */
export async function pushConfig(
  ctx: Context,
  uuid: string,
  overwrite: readonly string[],
): Promise<string[]> {
  const names = (await diffConfig(ctx, uuid))
    .filter((each) => isPushed(each, overwrite))
    .map(({ name }) => name);
  for (let sent: ConfigVar[] = []; names.length > 0;) {
    const wanted = await wantedConfig(ctx, uuid);
    const changes = names.map((name) => ({ name, value: wanted.get(name) ?? null }));
    // If what is wanted changed meanwhile, its new values may have reached the platform before ours: those are sent.
    if (isDeepStrictEqual(changes, sent)) break;
    await ctx.platformFor(uuid).config.update(changes);
    sent = changes;
  }
  return names;
}
