import type { Context } from "../context.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { doneAnswer, laterAnswer, refusalAnswer, type Answer } from "../resources/answers.ts";
import { vendorResource } from "../resources/rows.ts";
import { attempt, isNotYet, StillUnderWay, whenAgain, type Attempt } from "./attempt.ts";
import { LONGEST_STEP_MS } from "./lease-keeper.ts";
import { fenceOf } from "./settle.ts";
import { isOfPlanChange, type Step } from "./step.ts";

// The steps that call the vendor's functions, each in this one place. Each throws in order to be tried again.

export async function provisionStep(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const resource = vendorResource(ctx.vault, step.resource, step.key, signal);
  return settle(
    ctx,
    step,
    await attempt(ctx, step.resource, "provision", () => ctx.vendor.provision(resource)),
  );
}

export async function changePlanStep(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const { plan: previousPlan } = step.resource;
  const resource = vendorResource(ctx.vault, withNewPlan(step), step.key, signal);
  const call = () => ctx.vendor.changePlan(resource, previousPlan);
  return settle(ctx, step, await attempt(ctx, step.resource, "changePlan", call));
}

export async function finishStep(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const resource = vendorResource(ctx.vault, withNewPlan(step), step.key, signal);
  const call = () => ctx.vendor.finish(resource, ctx.platformFor(resource.uuid));
  return settle(ctx, step, await attempt(ctx, step.resource, "finish", call));
}

export async function cleanUpStep(ctx: Context, step: Step, signal: AbortSignal): Promise<void> {
  const outcome = await ctx.vendor.deprovision(vendorResource(ctx.vault, step.resource, step.key, signal));
  if (isNotYet(outcome)) throw new StillUnderWay(whenAgain(outcome));
  await ctx.steps.finish(step);
}

/**
 * Stores the vendor's result, with one rule: if nobody was answered yet, it is the answer, which is returned; else it is
 * announced. Goes on trying while the database is unreachable, as the vendor's function need not be called again.
 */
function settle(ctx: Context, step: Step, result: Attempt): Promise<Answer | null> {
  step.result = result;
  if (result.is === "failed") throw result.error;
  const store = isOfPlanChange(step) ? storeChange : storeProvision;
  return retryWhileDatabaseAway(() => store(ctx, step, result), { upToMs: LONGEST_STEP_MS });
}

type Result = Exclude<Attempt, { is: "failed" }>;

async function storeProvision(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const { resource, requestId } = step;
  if (resource.answerStatus === null) {
    const answer = await ctx.answers.decide(fenceOf(step), result);
    if (answer) return answer;
  }
  if (result.is === "done") await ctx.settlements.done(step, result.config);
  else if (result.is === "later") await laterAgain(ctx, step, result);
  else if (await ctx.settlements.fail(step)) {
    const about = { alarm: "provision_failed", uuid: resource.uuid, requestId, error: result.refusal };
    ctx.log.error(about, "The service refused what it had put off");
  }
  return null;
}

async function storeChange(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  if (result.is === "done")
    return (await ctx.settlements.done(step, result.config)) ? doneAnswer(result) : null;
  if (result.is === "later")
    return (await laterAgain(ctx, step, result)) ? laterAnswer(result.message) : null;
  const refused = await ctx.settlements.refuseChange(step);
  if (!refused) return null;
  const { uuid, plan: kept } = step.resource;
  const about = { uuid, requestId: step.requestId, plan: step.detail.plan, kept, error: result.refusal };
  if (refused.isAccepted || step.detail.isAccepted)
    ctx.log.error({ alarm: "plan_change_refused", ...about }, "The service refused an accepted plan");
  else ctx.log.info(about, "The service refused a plan");
  return refusalAnswer(result.refusal);
}

/** A `finish` that is not done is run again; any other step becomes one. */
function laterAgain(ctx: Context, step: Step, result: Extract<Attempt, { is: "later" }>): Promise<boolean> {
  if (step.kind === "finish") throw new StillUnderWay(result);
  return ctx.settlements.later(step);
}

function withNewPlan({ resource, detail: { plan = resource.plan } }: Step): Step["resource"] {
  return { ...resource, plan };
}
