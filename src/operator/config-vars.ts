import type { Queryable } from "../database/database.ts";
import { KitError } from "../errors.ts";
import { openConfig, sealConfig, type ConfigVar } from "../resources/config-vars.ts";
import type { Offer } from "../resources/contract.ts";
import type { PlatformFor } from "../platform/api.ts";
import { findResource } from "../resources/store.ts";
import type { Vault } from "../vault/vault.ts";
import { typedUuid, UsedWrongly } from "./errors.ts";
import { keepConfig } from "./store.ts";

interface Needs {
  db: Queryable;
  vault: Vault;
  offer: Offer;
  platformFor: PlatformFor;
}

const MOST_TRIES = 5;

/** The config vars as the platform has them. The values are the customer's secrets. */
export async function getConfig(
  { platformFor }: Pick<Needs, "platformFor">,
  typed: string,
): Promise<ConfigVar[]> {
  return inOrder(await platformFor(typedUuid(typed)).config.get());
}

/**
 * Changes the named config vars on the platform (null removes one) and in the stored full set, so that a later push
 * does not undo the change. Throws {@link UsedWrongly} for names that the service does not declare; but a var that was
 * set from here before it was retired may be removed.
 */
export async function setConfig(
  needs: Needs,
  typed: string,
  changes: readonly ConfigVar[],
): Promise<ConfigVar[]> {
  const uuid = typedUuid(typed);
  const resource = await findResource(needs.db, uuid);
  const kept = resource ? openConfig(needs.vault, resource) : [];
  const named = (isRemoved: boolean) =>
    changes.filter(({ value }) => (value === null) === isRemoved).map(({ name }) => name);
  checkNames(needs.offer, named(false));
  checkNames(
    needs.offer,
    named(true),
    kept.map(({ name }) => name),
  );
  const { config } = needs.platformFor(uuid);
  const before = resource?.sealedConfig ?? null;
  const set = await config.update([...changes]);
  const replaced = await keepInStep(needs, uuid, changes);
  // A plan change may have stored another config meanwhile, and its vars may have reached the platform after ours: send
  // ours again.
  const isOvertaken = replaced !== null && !(before && replaced.equals(before));
  return inOrder(isOvertaken ? await config.update([...changes]) : set);
}

/** Stores the changes in the full set. Answers the sealed config that this replaced; null if there was none. */
async function keepInStep(
  { db, vault }: Needs,
  uuid: string,
  changes: readonly ConfigVar[],
): Promise<Buffer | null> {
  const names = new Set(changes.map(({ name }) => name));
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const resource = await findResource(db, uuid);
    if (!resource || resource.state === "deprovisioned") return null;
    const others = openConfig(vault, resource).filter(({ name }) => !names.has(name));
    const sealed = sealConfig(vault, uuid, [...others, ...changes]);
    const before = resource.sealedConfig;
    if (await keepConfig(db, uuid, { now: sealed, before })) return before;
  }
  throw new KitError(
    "busy",
    `The platform has the change, but resource ${uuid} kept changing here; try again.`,
  );
}

/**
 * Throws {@link UsedWrongly} for names that the service does not declare: the platform would refuse them. Names in
 * `removable` are accepted too, to be removed.
 */
export function checkNames(
  { configVars }: Offer,
  names: readonly string[],
  removable: readonly string[] = [],
): void {
  const unknown = names.filter((name) => !configVars.includes(name) && !removable.includes(name));
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
