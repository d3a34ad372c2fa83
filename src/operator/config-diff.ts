import type { Database } from "../database/database.ts";
import { errorIdOf, messageOf } from "../errors.ts";
import { openConfig, type ConfigVar } from "../resources/config-vars.ts";
import type { Offer } from "../resources/contract.ts";
import type { PlatformFor } from "../platform/api.ts";
import type { ResourceRow } from "../resources/rows.ts";
import { findResource } from "../resources/store.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { typedUuid, UnknownResource } from "./errors.ts";
import { type OnProgress, rowsByUuid, workThrough } from "./work-through.ts";
import { configsAfter, countConfigs, type FoundConfig } from "./store.ts";

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
  /**
   * False if neither the vendor's service nor an operator (`kit config set`) has said what the resource should have.
   */
  isKnown: boolean;
}

/** The config vars of all resources compared. A resource whose vars are as wanted is in none of the lists. */
export interface FleetDifference {
  checked: number;
  different: { uuid: string; vars: VarDifference[] }[];
  failed: { uuid: string; id: string; message: string }[];
  skipped: { uuid: string; reason: string }[];
  /** How many resources were not looked at; only set if the work was stopped. */
  left?: number;
  /** The {@link ConfigDifference.retired} names of all resources that were looked at. */
  retired: Set<string>;
}

export interface DiffNeeds {
  db: Database;
  vault: Vault;
  offer: Offer;
  platformFor: PlatformFor;
}

/**
 * Compares what the vendor's service wants for a resource with what the platform has, var by var (platform document,
 * "Add-on configuration"). Nothing is changed.
 */
export async function diffConfig(needs: DiffNeeds, typed: string): Promise<ConfigDifference> {
  const { db, vault, platformFor } = needs;
  const uuid = typedUuid(typed);
  const resource = await findResource(db, uuid);
  if (!resource) throw new UnknownResource(uuid);
  const theirs = new Map((await platformFor(uuid).config.get()).map(({ name, value }) => [name, value]));
  const ours = new Map(wantedConfig(needs, resource).map(({ name, value }) => [name, value]));
  const shown = (name: string, value: string | null | undefined) =>
    value == null ? null : { value: new Secret(value), fingerprint: fingerprint(vault, uuid, name, value) };
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
 * The config vars that are wanted for a resource; the value null means "not wanted". That includes a var which the
 * service once set but no longer declares: the platform would accept no value for it.
 */
export function wantedConfig(
  { vault, offer }: Pick<DiffNeeds, "vault" | "offer">,
  resource: ResourceRow,
): ConfigVar[] {
  return openConfig(vault, resource).map(({ name, value }) => ({
    name,
    value: offer.configVars.includes(name) ? value : null,
  }));
}

/** Compares every resource that is not deprovisioned or failed, page by page. */
export async function diffAllConfigs(
  needs: DiffNeeds & { concurrency: number; signal: AbortSignal; onProgress?: OnProgress | undefined },
): Promise<FleetDifference> {
  const { db, concurrency, signal, onProgress } = needs;
  const report: FleetDifference = { checked: 0, different: [], failed: [], skipped: [], retired: new Set() };

  async function check({ uuid, credential, hasConfig }: FoundConfig): Promise<void> {
    if (credential !== "active") return void report.skipped.push({ uuid, reason: credential });
    if (!hasConfig) return void report.skipped.push({ uuid, reason: "not_known_yet" });
    try {
      const { vars, retired, isKnown } = await diffConfig(needs, uuid);
      for (const name of retired) report.retired.add(name);
      if (!isKnown) return void report.skipped.push({ uuid, reason: "not_known_yet" });
      report.checked += 1;
      if (isDifferent(vars)) report.different.push({ uuid, vars });
    } catch (error) {
      report.failed.push({ uuid, id: errorIdOf(error), message: messageOf(error) });
    }
  }

  const total = await countConfigs(db);
  const how = { concurrency, total, isHalted: () => signal.aborted, onProgress };
  const left = await workThrough(
    rowsByUuid((after) => configsAfter(db, after)),
    check,
    how,
  );
  return signal.aborted ? { ...report, left } : report;
}

export function isDifferent(vars: readonly VarDifference[]): boolean {
  return vars.some(({ state }) => state !== "same" && state !== "foreign");
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
