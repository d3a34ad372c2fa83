import { statement, type Queryable } from "../../database/database.ts";
import { KitError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { PlatformRefused } from "../../platform/api-errors.ts";
import type { Vault } from "../../vault/vault.ts";
import { notYetSet, openConfig } from "../config-vars.ts";
import { NoToken } from "../credentials/token-source.ts";
import type { PlatformFor } from "../platform-for.ts";
import type { FailLocally } from "../failure.ts";
import type { ResourceApi } from "../../platform/api.ts";
import { findResource, type ResourceRow } from "../rows.ts";
import { createDiscovered } from "./discovered.ts";
import { fenceOf } from "./fence.ts";
import type { Step, StepQueue } from "./queue.ts";
import type { Settlements } from "./settle.ts";

export interface PlatformSteps {
  announce(step: Step): Promise<void>;
  discover(step: Step): Promise<void>;
  reportFailure(step: Step): Promise<void>;
}

const storeApp = statement(
  "store_app",
  `UPDATE resources SET app_id = $2, app_name = $3, updated_at = now()
   WHERE uuid = $1 AND state <> 'deprovisioned' AND (app_id, app_name) IS DISTINCT FROM ($2, $3)`,
);

/**
 * The steps that tell or ask the platform something. Each throws to be tried again; while its credential is put aside that
 * would be in vain, and it waits until that is active again.
 */
export function createPlatformSteps(needs: {
  db: Queryable;
  vault: Vault;
  platformFor: PlatformFor;
  settlements: Settlements;
  failLocally: FailLocally;
  queue: StepQueue;
  log: Log;
}): PlatformSteps {
  const { db, platformFor, settlements, failLocally, queue, log } = needs;
  const discovered = createDiscovered(db);

  const unlessPutAside =
    (work: (step: Step) => Promise<void>) =>
    async (step: Step): Promise<void> => {
      try {
        await work(step);
      } catch (error) {
        if (!isPutAside(error)) throw error;
        const { kind, requestId, resource } = step;
        if (await queue.putOff(step, null, error.message))
          log.info({ uuid: resource.uuid, requestId, kind }, "A step waits: its credential was put aside");
      }
    };

  return {
    /** Sets the config vars, and if the platform still waits for it, says that provisioning is done. */
    announce: unlessPutAside(async (step) => {
      const { uuid, state } = step.resource;
      const platform = platformFor(uuid);
      const isFirst = state === "provisioning" && step.attempts === 1;
      await pushConfig(needs, platform, { uuid, given: isFirst ? step.resource : null });
      if (state === "provisioning") await markProvisioned(platform);
      if (await settlements.provisioned(step))
        log.info({ uuid, requestId: step.requestId }, "The platform knows the config vars");
    }),

    /** Finds the primary app and all attached apps (platform document, "Usage rules" 1). */
    discover: unlessPutAside(async (step) => {
      const { uuid } = step.resource;
      const { primary: app, attachments } = await lookForApps(platformFor, uuid);
      const attached = attachments.length;
      if (await discovered({ ...fenceOf(step), app, attached }))
        log.info({ uuid, requestId: step.requestId, app: app.name, attached }, "Found the attached apps");
    }),

    /** Tells the platform that an asynchronous provision failed for good, where it still can be told. */
    reportFailure: unlessPutAside(async (step) => {
      const { uuid } = step.resource;
      let isProvisioned = false;
      try {
        isProvisioned = await isDoneOverThere(platformFor(uuid));
      } catch (error) {
        if (!isGoneOrMute(error)) throw error;
      }
      if (isProvisioned) {
        if (await settlements.provisioned(step))
          log.warn(
            { uuid, requestId: step.requestId },
            "What was given up is provisioned at the platform, and stays",
          );
        return;
      }
      await failLocally(uuid);
      // It is gone with the others, but where there was nothing left to fail.
      await queue.finish(step);
    }),
  };
}

/** Repeating the call after its answer was lost is refused, rightly: then the add-on itself says how it stands. */
async function markProvisioned(platform: ReturnType<PlatformFor>): Promise<void> {
  try {
    await platform.actions.provision();
  } catch (error) {
    if (!(error instanceof PlatformRefused) || error.status >= 500 || [401, 403, 429].includes(error.status))
      throw error;
    if ((await platform.addons.own()).state !== "provisioned") throw error;
  }
}

/**
 * Takes a provision back. Once the platform was told that it is done, it refuses that, and we may not know: the answer to
 * the telling was lost, or came when we had just given up. Then the add-on itself says whether a customer has it. While
 * the platform keeps us from its app (403), it says neither.
 */
async function isDoneOverThere(platform: ReturnType<PlatformFor>): Promise<boolean> {
  try {
    await platform.actions.deprovision();
    return false;
  } catch (error) {
    if (!isRefusedWith(error, 403, 409, 422)) throw error;
    return (await platform.addons.own()).state === "provisioned";
  }
}

/**
 * Whether the platform has no such add-on, or there is no token to ask it with and none will come: without a grant nothing
 * was ever said to it, a pair that is refused for good has outlived its add-on (platform document, "Token response"), and
 * what it was not told of it gives up itself, an hour after us. What is only put aside may open again.
 */
function isGoneOrMute(error: unknown): boolean {
  if (error instanceof NoToken) return error.isFinal && !isPutAside(error);
  return isRefusedWith(error, 404, 410);
}

function isPutAside(error: unknown): error is NoToken {
  return error instanceof NoToken && error.id === "quarantined";
}

function isRefusedWith(error: unknown, ...statuses: number[]): boolean {
  return error instanceof PlatformRefused && statuses.includes(error.status);
}

/** The primary app, kept as last seen, and every attachment. */
export async function findApps(db: Queryable, platformFor: PlatformFor, uuid: string) {
  const found = await lookForApps(platformFor, uuid);
  await db.query(storeApp, [uuid, found.primary.id, found.primary.name]);
  return found;
}

async function lookForApps(platformFor: PlatformFor, uuid: string) {
  const platform = platformFor(uuid);
  const [addon, attachments] = await Promise.all([platform.addons.own(), platform.attachments.ofAddon()]);
  // Of an add-on that is read only its own id is checked, and what is found is written together with what others found.
  if (!addon.app?.id)
    throw new KitError("no_primary_app", `The platform names no app for the add-on ${uuid}.`);
  return { primary: addon.app, attachments };
}

/**
 * Makes the platform's config vars ours: the full set, sent only if something differs, so that a lost answer costs a
 * look and not a doubt (platform document, "Add-on configuration"). A resource's first set is `given` as it was a moment
 * ago, and needs no look: mostly nothing is there yet. What this release declares does not matter here: the set may come
 * from a newer one.
 */
async function pushConfig(
  { db, vault }: { db: Queryable; vault: Vault },
  { config }: ResourceApi,
  { uuid, given }: { uuid: string; given: ResourceRow | null },
): Promise<void> {
  let sent: Buffer | null = null;
  // Again, as long as others wrote down other vars meanwhile: theirs may have reached the platform before ours.
  for (;;) {
    const resource: ResourceRow | null = given && !sent ? given : await findResource(db, uuid);
    if (!resource?.sealedConfig || sent?.equals(resource.sealedConfig)) return;
    const wanted = openConfig(vault, resource);
    if (wanted.length === 0) return;
    const isSet = async () => notYetSet(wanted, await config.get()).length === 0;
    if (resource !== given && (await isSet())) return;
    await config.update(wanted);
    sent = resource.sealedConfig;
  }
}
