import type { Context } from "../context.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { answerOf, type Answer, type Result } from "../resources/answers.ts";
import { afterAnswer } from "../resources/states.ts";
import { answerFirst, lockedResource } from "../resources/store.ts";
import { finishStep, writeProvisionStep } from "./queue.ts";
import { isOfPlanChange, LONGEST_STEP_MS, type Step } from "./step.ts";
import { settleStep } from "./store.ts";
import { callVendor, isNotYet, StillUnderWay, vendorResource, whenAgain } from "./vendor-call.ts";

// The steps that call the vendor's functions, each in this one place. Each throws in order to be tried again.

export async function runProvision(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const resource = vendorResource(ctx.vault, step, signal);
  const call = () => ctx.vendor.provision(resource);
  return settle(ctx, step, await callVendor(ctx, step.resource, "provision", call));
}

export async function runChangePlan(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const resource = vendorResource(ctx.vault, step, signal);
  const call = () => ctx.vendor.changePlan(resource, step.resource.plan);
  return settle(ctx, step, await callVendor(ctx, step.resource, "changePlan", call));
}

export async function runFinish(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const resource = vendorResource(ctx.vault, step, signal);
  const call = () => ctx.vendor.finish(resource, ctx.platformFor(resource.uuid));
  const result = await callVendor(ctx, step.resource, "finish", call);
  if (result.is === "later") throw new StillUnderWay(result);
  return settle(ctx, step, result);
}

export async function runCleanUp(ctx: Context, step: Step, signal: AbortSignal): Promise<null> {
  const outcome = await ctx.vendor.deprovision(vendorResource(ctx.vault, step, signal));
  if (isNotYet(outcome)) throw new StillUnderWay(whenAgain(outcome));
  await finishStep(ctx.db, step);
  return null;
}

/**
 * Stores the vendor's result, with one rule: if nobody was answered yet, it is the answer, which is returned; else it is
 * announced. Goes on trying while the database is unreachable, as the vendor's function need not be called again.
 */
function settle(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  step.result = result;
  return retryWhileDatabaseAway(
    () => (isOfPlanChange(step) ? settleChange : settleProvision)(ctx, step, result),
    {
      upToMs: LONGEST_STEP_MS,
    },
  );
}

const NEXT = { done: null, later: "finish", refused: "clean_up" } as const;

async function settleProvision(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const { uuid, answerStatus } = step.resource;
  if (answerStatus === null) {
    const answer = answerOf(result, uuid);
    const config = result.is === "done" ? result.config : null;
    const first = { uuid, answer, config, state: afterAnswer(result.is), lease: step.lease };
    if (await answerFirst(ctx, { ...first, next: NEXT[result.is] })) return answer;
  }
  if ((await settleStep(ctx, step, result)) ?? (await settleUnwritten(ctx, step, result)))
    if (result.is === "refused")
      ctx.log.error(
        { alarm: "provision_failed", uuid, requestId: step.requestId, error: result.refusal },
        "The service refused what it had put off",
      );
  return null;
}

/** A process of the release before answers "later" to a repeated request, and writes no step. */
async function settleUnwritten(ctx: Context, step: Step, result: Result) {
  if (step.resource.answerStatus !== null) return null;
  await writeStepOf(ctx, step.resource.uuid);
  return settleStep(ctx, step, result);
}

/** Writes the step of a provision that has none. */
export async function writeStepOf({ db }: Pick<Context, "db">, uuid: string): Promise<void> {
  await db.transaction(async (tx) => {
    if (await lockedResource(tx, uuid)) await writeProvisionStep(tx, uuid);
  });
}

async function settleChange(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const settled = await settleStep(ctx, step, result);
  if (!settled) return null;
  if (result.is === "refused") {
    const { uuid, plan: kept } = step.resource;
    const about = { uuid, requestId: step.requestId, plan: step.detail.plan, kept, error: result.refusal };
    if (settled.isAccepted || step.detail.isAccepted)
      ctx.log.error({ alarm: "plan_change_refused", ...about }, "The service refused an accepted plan");
    else ctx.log.info(about, "The service refused a plan");
  }
  return answerOf(result);
}
