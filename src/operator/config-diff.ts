import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { openConfig, type ConfigVar } from "../resources/config-vars.ts";
import type { ResourceRow } from "../resources/rows.ts";
import { findResource } from "../resources/store.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { UnknownResource } from "./errors.ts";
import { forEachResource, type How, type Report } from "./work-through.ts";

/** A value that can be compared without showing it: two values are equal if their fingerprints are. */
export interface ShownValue {
  value: Secret;
  /** A keyed hash, so that guesses cannot be tried out on it; it depends on the resource and on the var's name. */
  fingerprint: string;
}

/**
 * One config var as the service wants it and as the platform has it; null means that it does not exist there. `extra`:
 * set from here once, but no longer wanted or declared. `foreign`: never set from here, such as a var of an
 * installation from before the kit.
 */
export interface VarDifference {
  name: string;
  state: "same" | "differs" | "missing" | "extra" | "foreign";
  wanted: ShownValue | null;
  platform: ShownValue | null;
}

/** The config vars of one resource compared, sorted by name. */
export interface ConfigDifference {
  vars: VarDifference[];
  /** Names that were set from here once and are no longer wanted, even if the platform no longer has them either. */
  retired: string[];
  /** False if neither the vendor's service nor an operator (`kit config set`) has said what the resource should have. */
  isKnown: boolean;
}

/** Said of a resource that is not {@link ConfigDifference.isKnown}. */
export const NOT_KNOWN_YET =
  "What your service wants is not known yet: it is still provisioning, or was installed before the kit.";

/**
 * Compares what the vendor's service wants for a resource with what the platform has, var by var (platform document,
 * "Add-on configuration"). Nothing is changed.
 */
export async function diffConfig(ctx: Context, uuid: string): Promise<ConfigDifference> {
  const resource = await findResource(ctx.db, uuid);
  if (!resource) throw new UnknownResource(uuid);
  const theirs = new Map((await ctx.platformFor(uuid).config.get()).map(({ name, value }) => [name, value]));
  const ours = wantedConfig(ctx, resource);
  const shown = (name: string, value: string | null | undefined) =>
    value == null
      ? null
      : { value: new Secret(value), fingerprint: fingerprint(ctx.vault, uuid, name, value) };
  const vars = [...new Set([...ours.keys(), ...theirs.keys()])].sort().flatMap((name) => {
    const state = stateOf(ours.get(name), theirs.get(name) ?? null);
    const wanted = shown(name, ours.get(name));
    return state ? [{ name, state, wanted, platform: shown(name, theirs.get(name)) }] : [];
  });
  const isSaid = resource.sealedConfig !== null && resource.state !== "provisioning";
  const retired = [...ours].flatMap(([name, value]) => (value === null ? [name] : []));
  return { vars, retired, isKnown: isSaid || ours.size > 0 };
}

/**
 * The wanted config vars by name; the value null means "not wanted". That includes a var which the service once set but
 * no longer declares: the platform would accept no value for it.
 */
function wantedConfig({ vault, offer }: Context, resource: ResourceRow): Map<string, string | null> {
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

function fingerprint(vault: Vault, uuid: string, name: string, value: string): string {
  const hash = vault.hash(new Secret(`config:${uuid}:${name}:${value}`));
  return Buffer.from(hash.subarray(0, 4)).toString("hex");
}

/** The vars that are not as wanted. */
export function differing(vars: readonly VarDifference[]): VarDifference[] {
  return vars.filter(({ state }) => state !== "same" && state !== "foreign");
}

/** The config vars of all resources compared: the report of the comparisons, and what differs. */
export interface FleetDifference {
  report: Report;
  different: { uuid: string; vars: VarDifference[] }[];
  /** The {@link ConfigDifference.retired} names of all resources. */
  retired: Set<string>;
}

/** Compares every resource that is not deprovisioned or failed. */
export async function diffAllConfigs(ctx: Context, how: How): Promise<FleetDifference> {
  const different: FleetDifference["different"] = [];
  const retired = new Set<string>();
  const report = await forEachResource(
    ctx,
    "all",
    async ({ uuid, credential }) => {
      if (credential !== "active") return { skipped: credential };
      const difference = await diffConfig(ctx, uuid);
      for (const name of difference.retired) retired.add(name);
      if (!difference.isKnown) return { skipped: "not_known_yet" };
      if (differing(difference.vars).length > 0) different.push({ uuid, vars: difference.vars });
      return null;
    },
    { ...how, isWanted: ({ state }) => state === "provisioning" || state === "provisioned" },
  );
  return { report, different, retired };
}

/** A push changes a value that exists on the platform only if `overwrite` names it and it was set from here. */
export function isPushed({ name, state }: VarDifference, overwrite: readonly string[]): boolean {
  return state === "missing" || (isOver({ state }) && overwrite.includes(name));
}

/** Whether only `overwrite` lets a push change it: somebody may have changed it on the platform by hand. */
export function isOver({ state }: Pick<VarDifference, "state">): boolean {
  return state === "differs" || state === "extra";
}

/** "TEAPOT_URL differs, TEAPOT_TOKEN missing" */
export function varsInWords(vars: readonly VarDifference[]): string {
  return vars.map(({ name, state }) => `${name} ${state}`).join(", ");
}

/** What the operator was shown of a var before confirming the push. */
export interface Shown {
  name: string;
  platform: Pick<ShownValue, "fingerprint"> | null;
}

/**
 * Carries out the push that the operator confirmed. A var whose value on the platform has changed since it was shown is
 * left alone. Answers the names that were changed.
 */
export async function pushShown(
  ctx: Context,
  uuid: string,
  { shown, overwrite }: { shown: readonly Shown[]; overwrite: readonly string[] },
): Promise<string[]> {
  const before = new Map(shown.map(({ name, platform }) => [name, platform?.fingerprint]));
  const { vars } = await diffConfig(ctx, uuid);
  let changes = vars
    .filter((each) => isPushed(each, overwrite) && before.get(each.name) === each.platform?.fingerprint)
    .map(({ name, wanted }): ConfigVar => ({ name, value: wanted?.value.reveal() ?? null }));
  while (changes.length > 0) {
    await ctx.platformFor(uuid).config.update(changes);
    const resource = await findResource(ctx.db, uuid);
    const now = resource ? wantedConfig(ctx, resource) : new Map<string, string | null>();
    const anew = changes.map(({ name }) => ({ name, value: now.get(name) ?? null }));
    if (now.size === 0 || isDeepStrictEqual(anew, changes)) break;
    // What is wanted has changed meanwhile, and the new values may have reached the platform before ours: send those.
    changes = anew;
  }
  return changes.map(({ name }) => name);
}

/** Carries out such a push for each resource that was shown, and skips those of which nothing is pushed. */
export function pushAllShown(
  ctx: Context,
  shown: FleetDifference["different"],
  overwrite: readonly string[],
  how: How,
): Promise<Report> {
  const byUuid = new Map(shown.map(({ uuid, vars }) => [uuid, vars]));
  return forEachResource(
    ctx,
    [...byUuid.keys()],
    async ({ uuid }) => {
      const vars = byUuid.get(uuid)!;
      if (!vars.some((each) => isPushed(each, overwrite))) return { skipped: "kept" };
      await pushShown(ctx, uuid, { shown: vars, overwrite });
      return null;
    },
    how,
  );
}
