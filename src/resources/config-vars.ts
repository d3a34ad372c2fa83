import type { Offer } from "../offer.ts";
import { resourceSealContext, type Vault } from "../vault/vault.ts";
import type { ResourceRow } from "./rows.ts";

/** A config var of an app. The platform removes a var whose value is `null`. */
export interface ConfigVar {
  name: string;
  value: string | null;
}

/**
 * The wanted vars, and `null` for every name that was set before and is no longer wanted. PATCH merges by name, so
 * sending the full set twice has the same effect as once (assumed, section 5, "add-on config").
 */
export function fullSet(before: readonly ConfigVar[], wanted: Readonly<Record<string, string>>): ConfigVar[] {
  const set = Object.entries(wanted).map(([name, value]): ConfigVar => ({ name, value }));
  const dropped = before
    .filter(({ name }) => !Object.hasOwn(wanted, name))
    .map(({ name }) => ({ name, value: null }));
  return [...set, ...dropped];
}

/** The vars of a full set that have a value. */
export const wantedOf = (set: readonly ConfigVar[]): Record<string, string> =>
  Object.fromEntries(set.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])));

/**
 * The full set for the `result` of a vendor's function that saw the vars `before` and ended when they were `now`. A var
 * that the function did not change keeps its present value.
 */
export function mergedSet(
  before: readonly ConfigVar[],
  now: readonly ConfigVar[],
  result: Readonly<Record<string, string>>,
): ConfigVar[] {
  const valueIn = (vars: readonly ConfigVar[], name: string) =>
    vars.find((each) => each.name === name)?.value ?? null;
  const names = new Set([...Object.keys(result), ...now.map(({ name }) => name)]);
  const merged = [...names].flatMap((name) => {
    const value = Object.hasOwn(result, name) ? result[name]! : null;
    const kept = value === valueIn(before, name) ? valueIn(now, name) : value;
    return kept === null ? [] : [[name, kept] as const];
  });
  return fullSet(now, Object.fromEntries(merged));
}

/** The members of `ours` that the platform's config does not show yet. */
export function notYetSet(ours: readonly ConfigVar[], theirs: readonly ConfigVar[]): ConfigVar[] {
  const values = new Map(theirs.map(({ name, value }) => [name, value]));
  return ours.filter(({ name, value }) => (values.get(name) ?? null) !== value);
}

/** Whether the values of a config var are no secrets. */
export const isPublic = ({ publicConfigVars = [] }: Pick<Offer, "publicConfigVars">, name: string) =>
  publicConfigVars.includes(name);

/** The values of a resource's public config vars, by name. None if they cannot be decrypted. */
export function publicValues(
  { vault, offer }: { vault: Vault; offer: Pick<Offer, "publicConfigVars"> },
  row: Pick<ResourceRow, "uuid" | "sealedConfig">,
): Readonly<Record<string, string>> {
  if (!offer.publicConfigVars?.length) return {};
  try {
    const vars = openConfig(vault, row).filter(({ name }) => isPublic(offer, name));
    return wantedOf(vars);
  } catch {
    return {};
  }
}

export const sealConfig = (vault: Vault, uuid: string, config: readonly ConfigVar[]) =>
  vault.seal(resourceSealContext("sealed_config", uuid), JSON.stringify(config));

export function openConfig(
  vault: Vault,
  { uuid, sealedConfig }: Pick<ResourceRow, "uuid" | "sealedConfig">,
): ConfigVar[] {
  if (!sealedConfig) return [];
  const json = vault.open(resourceSealContext("sealed_config", uuid), sealedConfig).reveal();
  return JSON.parse(json) as ConfigVar[];
}
