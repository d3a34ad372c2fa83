import type { Context } from "../context.ts";
import { openConfig, type ConfigVar } from "../resources/config-vars.ts";
import type { Offer } from "../resources/contract.ts";
import { changeConfig, findResource, lockedResource } from "../resources/store.ts";
import { UsedWrongly } from "./errors.ts";

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
