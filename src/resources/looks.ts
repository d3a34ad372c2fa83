import type { Context } from "../context.ts";
import { KitError } from "../errors.ts";
import { doubt, noteGone, notePlan, noteThere, reportMarks } from "../ledgers/marks.ts";
import { takeGone } from "../ledgers/store.ts";
import type { PlatformFor } from "../platform/api.ts";
import { AddonEnded, isNotThere, NoToken } from "../platform/call.ts";
import { within } from "../within.ts";
import { endStep } from "../work/queue.ts";
import type { Step } from "./step.ts";
import { storeLook, takeLooks } from "./step-store.ts";

// Which apps a resource is on, and whether the platform still has it: after its first tokens, and once a day.

/** So often must the platform say that it has no such add-on, over some seconds. */
const LOOKS_TO_BELIEVE = 3;

/** Platform document, "Usage rules" 1. What stores the apps ends the step. */
export async function discover(ctx: Context, step: Step): Promise<void> {
  const { uuid } = step.resource;
  const found = await findApps(ctx, uuid, step).catch((error: unknown) => {
    if (isNotThere(error) && step.attempts >= LOOKS_TO_BELIEVE) return "gone";
    // Without a token there is no answer to wait for.
    if (step.detail.isDoubted && error instanceof NoToken) return "mute";
    throw error;
  });
  if (found === "gone") await noteGone(ctx, uuid);
  if (typeof found === "string") return void (await endStep(ctx.db, step));
  const { primary, attachments } = found;
  const about = { uuid, requestId: step.requestId, app: primary.name, attached: attachments.length };
  ctx.log.info(about, "Found the attached apps");
}

/** An add-on and its attachments. If the add-on is not there, that is what it rejects with. */
async function askFor(platform: ReturnType<PlatformFor>) {
  const [addon, attachments] = await Promise.allSettled([
    platform.addons.own(),
    platform.attachments.ofAddon(),
  ]);
  if (addon.status === "rejected") throw addon.reason;
  if (addon.value.state === "deprovisioned") throw new AddonEnded(addon.value.id);
  if (attachments.status === "rejected") throw attachments.reason;
  return { addon: addon.value, attachments: attachments.value };
}

/** `step`: the one that ends with it. */
export async function findApps(ctx: Pick<Context, "db" | "log" | "platformFor">, uuid: string, step?: Step) {
  const { addon, attachments } = await askFor(ctx.platformFor(uuid));
  // The API client checks only the add-on's own id.
  if (!addon.app?.id)
    throw new KitError("no_primary_app", `The platform names no app for the add-on ${uuid}.`);
  await notePlan(ctx, uuid, addon.plan);
  await storeLook(ctx.db, { uuid, step, app: addon.app, attached: attachments.length });
  await noteThere(ctx, uuid);
  return { primary: addon.app, attachments };
}

/** A process that stops waits for it first, and then 10 s for the vendor's functions. */
const LONGEST_LOOK_MS = 5_000;

/**
 * Once a day for each resource: customers rename apps, and an add-on may have gone without a word. After a look that
 * fails, a later tick goes on. What differs from the platform's ledger by then is reported.
 */
export async function lookAgain(ctx: Context, signal: AbortSignal): Promise<void> {
  const late = () => new KitError("late", "The platform has not said in time which apps a resource has.");
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
  // Of those that were gone, a token that has expired is refreshed for the look: nothing else refreshes it for a day.
  if (!signal.aborted) await Promise.allSettled((await takeGone(ctx.db)).map(look));
  await reportMarks(ctx);
}
