import type { Context } from "../context.ts";
import type { PlatformFor } from "../platform/api.ts";
import { NoToken, PlatformRefused } from "../platform/call.ts";
import { ALARM_AFTER_ATTEMPTS, endStep } from "../work/queue.ts";
import { notYetSet, openConfig } from "./config-vars.ts";
import { failProvision } from "./end-store.ts";
import { isOfPlanChange, type Step } from "./step.ts";
import { settleAnnounced } from "./step-store.ts";
import { findResource } from "./store.ts";

// The steps that tell the platform what a resource has become. Each throws in order to be tried again.

export async function announce(ctx: Context, step: Step): Promise<void> {
  const { uuid, state } = step.resource;
  const platform = ctx.platformFor(uuid);
  await pushConfig(ctx, step);
  // The announcement of a plan change may run beside that of the provision before it, which tells this once.
  if (state === "provisioning" && !isOfPlanChange(step)) await markProvisioned(platform);
  if (await settleAnnounced(ctx.db, step, ctx.vendor.rotation?.overlapMinutes))
    ctx.log.info({ uuid, requestId: step.requestId }, "The platform has the config vars");
}

/**
 * Sends the full set of config vars, but only if something differs, so that after a lost answer a look shows whether it
 * was set (platform document, "Add-on configuration"). The first set is sent without a look. The vars are checked against
 * this release's offer only if the platform refuses them for half an hour: a newer one may have set them, for a manifest
 * that is still to come.
 */
async function pushConfig({ db, vault, offer, platformFor }: Context, step: Step): Promise<void> {
  const { uuid, state } = step.resource;
  const { attempts } = step;
  const mayBeSet = state === "provisioned" || attempts > 1;
  const { config } = platformFor(uuid);
  // Repeats while other processes store other vars: their update may have reached the platform before ours.
  for (let sent: Buffer | null = null, isLook = mayBeSet; ; isLook = true) {
    const resource = await findResource(db, uuid);
    if (!resource?.sealedConfig || sent?.equals(resource.sealedConfig)) return;
    const wanted = openConfig(vault, resource);
    if (wanted.length === 0 || (isLook && notYetSet(wanted, await config.get()).length === 0)) return;
    await config.update(wanted).catch((error: unknown) => {
      if (!isRefusedWith(error, 422) || attempts < ALARM_AFTER_ATTEMPTS) throw error;
      const isDeclared = (name: string) => offer.configVars.includes(name);
      return config.update(
        wanted.map(({ name, value }) => ({ name, value: isDeclared(name) ? value : null })),
      );
    });
    sent = resource.sealedConfig;
  }
}

/** Tells the platform that an asynchronous provision failed for good. */
export async function reportFailure(ctx: Context, step: Step): Promise<void> {
  const { uuid } = step.resource;
  let isProvisioned = false;
  try {
    isProvisioned = await isDoneOverThere(ctx.platformFor(uuid));
  } catch (error) {
    if (!isGoneOrMute(error)) throw error;
  }
  if (isProvisioned) {
    const about = { uuid, requestId: step.requestId };
    if (await settleAnnounced(ctx.db, step))
      ctx.log.warn(about, "What was given up is provisioned at the platform, and stays");
    return;
  }
  await failProvision(ctx, uuid);
  // `failProvision` has deleted this step with the others, unless there was nothing left to fail.
  await endStep(ctx.db, step);
}

/** After a call whose answer was lost, the platform rightly refuses another. */
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
 * Takes a provision back. True: the platform has it as provisioned, so it stays. Once told that it is done, the platform
 * refuses to take it back, and we may not know that it was told; then the add-on's own state decides. While the platform
 * denies access to the app (403), it does not show that state either: this throws, and the step is tried again.
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
 * Whether nothing needs to be told: the platform has no such add-on, or no token will come. Without a grant nothing was
 * ever said; a pair that is refused for good has outlived its add-on (platform document, "Token response"); and a
 * provision that the platform was not told of, it gives up itself. A quarantined credential may open again, so it does
 * not count.
 */
function isGoneOrMute(error: unknown): boolean {
  if (error instanceof NoToken) return error.isFinal && error.id !== "quarantined";
  return isRefusedWith(error, 404, 410);
}

function isRefusedWith(error: unknown, ...statuses: number[]): boolean {
  return error instanceof PlatformRefused && statuses.includes(error.status);
}
