import type { Context } from "../context.ts";
import { KitError } from "../errors.ts";
import { doubt, noteGone, notePlan, noteThere, reportMarks } from "../ledgers/marks.ts";
import { takeGone } from "../ledgers/store.ts";
import type { PlatformFor } from "../platform/api.ts";
import { AddonEnded, isNotThere, NoToken } from "../platform/call.ts";
import { within } from "../within.ts";
import { endStep } from "../work/queue.ts";
import { attachedAsIn } from "./names-in-app.ts";
import type { Step } from "./step-kinds.ts";
import { storeLook, takeLooks } from "./step-store.ts";

// Reads from the platform which apps a resource is on and whether the add-on still exists: after its first tokens, and
// once a day.

/** How many times in a row the platform must answer that the add-on does not exist. */
const LOOKS_TO_BELIEVE = 3;

/** Platform document, "Usage rules" 1. The statement that stores the apps also ends the step. */
export async function discover(ctx: Context, step: Step): Promise<void> {
  const { uuid } = step.resource;
  const found = await findApps(ctx, uuid, step).catch((error: unknown) => {
    if (isNotThere(error) && step.attempts >= LOOKS_TO_BELIEVE) return "gone";
    // Without a token the platform cannot be queried, so a retry cannot settle the doubt.
    if (step.detail.isDoubted && error instanceof NoToken) return "mute";
    throw error;
  });
  if (found === "gone") await noteGone(ctx, uuid);
  if (typeof found === "string") return void (await endStep(ctx.db, step));
  const { primary, attachments } = found;
  const about = { uuid, requestId: step.requestId, app: primary.name, attached: attachments.length };
  ctx.log.info(about, "Found the attached apps");
}

/** Reads an add-on and its attachments. If both calls fail, it rejects with the error of the add-on. */
async function readAddon(platform: ReturnType<PlatformFor>) {
  const [addon, attachments] = await Promise.allSettled([
    platform.addons.own(),
    platform.attachments.ofAddon(),
  ]);
  if (addon.status === "rejected") throw addon.reason;
  if (addon.value.state === "deprovisioned") throw new AddonEnded(addon.value.id);
  if (attachments.status === "rejected") throw attachments.reason;
  return { addon: addon.value, attachments: attachments.value };
}

type Looking = Pick<Context, "db" | "log" | "platformFor" | "offer" | "config">;

/** Reads and stores the apps of a resource. `step`: the discovery step that ends when they are stored. */
export async function findApps(ctx: Looking, uuid: string, step?: Step) {
  const { addon, attachments } = await readAddon(ctx.platformFor(uuid));
  // The API client checks only the add-on's own id.
  if (!addon.app?.id)
    throw new KitError("no_primary_app", `The platform names no app for the add-on ${uuid}.`);
  await notePlan(ctx, uuid, addon.plan);
  const attachedAs = attachedAsIn(ctx.offer, ctx.config.addonId, addon, attachments);
  await storeLook(ctx.db, { uuid, step, app: addon.app, attached: attachments.length, attachedAs });
  await noteThere(ctx, uuid);
  return { primary: addon.app, attachments };
}

/** Short, because a process that stops waits for these calls before it waits 10 s for the vendor's functions. */
const LONGEST_LOOK_MS = 5_000;

/**
 * Reads the apps of each resource once a day: customers rename apps, and a deprovision request may have been missed. The
 * job stops after a batch with an error; a later tick continues. Then the differences from the platform are reported.
 */
export async function lookAgain(ctx: Context, signal: AbortSignal): Promise<void> {
  const late = () =>
    new KitError(
      "late",
      `The platform did not return a resource's apps within ${LONGEST_LOOK_MS / 1_000} s.`,
    );
  const look = ({ uuid }: { uuid: string }) =>
    within(LONGEST_LOOK_MS, findApps(ctx, uuid), late).catch(async (error: unknown) => {
      if (isNotThere(error)) await doubt(ctx, uuid);
      throw error;
    });
  for (let hasFailed = false; !hasFailed && !signal.aborted;) {
    const taken = await takeLooks(ctx.db);
    if (taken.length === 0) break;
    const looks = await Promise.allSettled(taken.filter(({ hasToken }) => hasToken).map(look));
    hasFailed = looks.some((each) => each.status === "rejected" && !isNotThere(each.reason));
  }
  // Resources that the platform did not have are checked even with an expired token: the call refreshes it.
  if (!signal.aborted) await Promise.allSettled((await takeGone(ctx.db)).map(look));
  await reportMarks(ctx);
}
