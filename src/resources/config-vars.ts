import { resourceSealContext, type Vault } from "../vault/vault.ts";
import type { ResourceRow } from "./rows.ts";

/** Null removes it. */
export interface ConfigVar {
  name: string;
  value: string | null;
}

/**
 * What is wanted now, and null for every name we set before and no longer want. PATCH merges by name, so sending the
 * full set again changes nothing (assumed, section 5, "add-on config").
 */
export function fullSet(before: readonly ConfigVar[], wanted: Readonly<Record<string, string>>): ConfigVar[] {
  const set = Object.entries(wanted).map(([name, value]): ConfigVar => ({ name, value }));
  const dropped = before
    .filter(({ name }) => !Object.hasOwn(wanted, name))
    .map(({ name }) => ({ name, value: null }));
  return [...set, ...dropped];
}

/** What a full set wants. */
export const wantedOf = (set: readonly ConfigVar[]): Record<string, string> =>
  Object.fromEntries(set.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])));

/** The full set that a result means: what it left as it was `before` is as it is `now`. */
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
