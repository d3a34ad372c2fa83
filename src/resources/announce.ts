import type { Context } from "../context.ts";
import type { PlatformFor } from "../platform/api.ts";
import { NoToken, PlatformRefused } from "../platform/call.ts";
import { ALARM_AFTER_ATTEMPTS, endStep } from "../work/queue.ts";
import { notYetSet, openConfig } from "./config-vars.ts";
import { failProvision } from "./end-store.ts";
import { isOfPlanChange, type Step } from "./step-kinds.ts";
import { settleAnnounced } from "./step-store.ts";
import { findResource } from "./store.ts";

// The steps that report the state of a resource to the platform. A step that throws is retried.

export async function announce(ctx: Context, step: Step): Promise<void> {
  const { uuid, state } = step.resource;
  const platform = ctx.platformFor(uuid);
  await pushConfig(ctx, step);
  // The announcement of a plan change may run beside that of the provision; only the latter marks the add-on provisioned.
  if (state === "provisioning" && !isOfPlanChange(step)) await markProvisioned(platform);
  if (await settleAnnounced(ctx.db, step, ctx.vendor.rotation?.overlapMinutes))
    ctx.log.info({ uuid, requestId: step.requestId }, "The platform has the config vars");
}

/**
 * Sends the full set of config vars if the platform's set differs (platform document, "Add-on configuration"). The first
 * set of a new resource is sent without reading the platform's. After half an hour of refusals, vars that this release's
 * offer does not declare are left out. Not earlier, because a newer release may have set them before its manifest was
 * pushed.
 */
async function pushConfig({ db, vault, offer, platformFor }: Context, step: Step): Promise<void> {
  const { uuid, state } = step.resource;
  const { attempts } = step;
  const mayBeSet = state === "provisioned" || attempts > 1;
  const { config } = platformFor(uuid);
  // Repeated until the stored vars are the sent ones: another process may have stored and sent other vars in between.
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

/** Reports to the platform that an asynchronous provision failed for good. */
export async function reportFailure(ctx: Context, step: Step): Promise<void> {
  const { uuid } = step.resource;
  let isProvisioned = false;
  try {
    isProvisioned = await isProvisionedAtPlatform(ctx.platformFor(uuid));
  } catch (error) {
    if (!needsNoReport(error)) throw error;
  }
  if (isProvisioned) {
    const about = { uuid, requestId: step.requestId };
    if (await settleAnnounced(ctx.db, step))
      ctx.log.warn(
        about,
        "Provision was given up, but the platform has it as provisioned; the resource is kept",
      );
    return;
  }
  await failProvision(ctx, uuid);
  // If the provision had ended before, `failProvision` has not deleted this step.
  await endStep(ctx.db, step);
}

/** If the answer to an earlier call was lost, the platform refuses this one although the add-on is provisioned. */
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
 * Reports the failure to the platform. Returns `true` if the platform has the add-on as provisioned: the answer to the
 * service's earlier success report may have been lost, and the platform refuses a failure report after a success. The
 * add-on's state at the platform then decides. While the platform denies access to the app (403), the state cannot be
 * read either; the function throws, and the step is retried.
 */
async function isProvisionedAtPlatform(platform: ReturnType<PlatformFor>): Promise<boolean> {
  try {
    await platform.actions.deprovision();
    return false;
  } catch (error) {
    if (!isRefusedWith(error, 403, 409, 422)) throw error;
    return (await platform.addons.own()).state === "provisioned";
  }
}

/**
 * Whether the failure need not be reported: the platform has no such add-on, or this service will get no token to report
 * it. The platform itself gives up a provision without a report. A pair that is refused for good has outlived its add-on
 * (platform document, "Token response"). A quarantined credential does not count, since its key may be restored.
 */
function needsNoReport(error: unknown): boolean {
  if (error instanceof NoToken) return error.isFinal && error.id !== "quarantined";
  return isRefusedWith(error, 404, 410);
}

function isRefusedWith(error: unknown, ...statuses: number[]): boolean {
  return error instanceof PlatformRefused && statuses.includes(error.status);
}
