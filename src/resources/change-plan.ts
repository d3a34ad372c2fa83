import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import type { Queryable } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import {
  acceptChange,
  MOST_UNCHANGED_CALLS,
  noteUnchanged,
  openStepsOf,
  writeChange,
  type PlanChange,
} from "./plan-store.ts";
import { FIRST_LEASE } from "../work/step.ts";
import { newStep, type Step } from "./step.ts";
import { orNullAfter } from "../within.ts";
import {
  answerInTime,
  deprovisioned,
  laterAnswer,
  notFound,
  refusalAnswer,
  requestDeadline,
  unknownPlan,
  type Answer,
  type Persist,
} from "./answers.ts";
import { wasNeverProvisioned } from "./rows.ts";
import { lockedResource } from "./store.ts";

// While a plan changes, the new plan stands in its step, and the resource keeps the plan it has until the change is made.
// So a refused change leaves nothing to take back, and changes that wait for one another start from what is then there.

/**
 * Answers a plan change (assumed, section 1). It stores the change as a step, runs that step, and waits for the
 * vendor's result; after `pace.vendorMs` the change is accepted and made later. A change that is being made for another
 * request is answered first, as the last one answered counts. Throws a `Refusal` for what cannot be changed.
 */
export async function changePlan(
  ctx: Context,
  uuid: string,
  plan: string,
  requestId: string,
  receivedAtMs = performance.now(),
): Promise<Answer> {
  const persist = requestDeadline(receivedAtMs, ctx.pace);
  const wish = { uuid, plan, key: randomUUID(), requestId, traceparent: ctx.trace.current() };
  for (;;) {
    const answer = await answerInTime(async (isLate) => {
      const begun = await persist(() => ctx.db.transaction((tx) => begin(ctx, tx, wish, isLate)));
      return begun && "kind" in begun ? resultOrAccepted(ctx, begun, plan, persist) : begun;
    }, receivedAtMs + ctx.pace.vendorMs);
    if (answer?.status === 202) ctx.wake.runVendorSteps();
    if (answer) return answer;
  }
}

/**
 * Begins a change. A step: to be run by this process. An answer: another step is to run first, or nothing is to change.
 * Null: another request is to be answered first, and may be waited for.
 */
async function begin(ctx: Context, tx: Queryable, wish: PlanChange, isLate: boolean) {
  const { uuid, plan, key, requestId, traceparent } = wish;
  const { plans } = ctx.offer;
  const claimedAtMs = Date.now();
  const resource = await lockedResource(tx, uuid);
  if (!resource || wasNeverProvisioned(resource)) throw notFound();
  if (resource.state === "deprovisioned") throw deprovisioned();
  if (resource.state === "failed")
    throw new Refusal("Provisioning failed, so the plan cannot be changed.", { id: "provision_failed" });
  const work = { key, kind: "change_plan", detail: { plan }, requestId, traceparent, claimedAtMs } as const;
  const step = newStep(resource, work);
  const queued = laterAnswer(`The change to ${plan} follows what is under way.`);
  const open = await openStepsOf(tx, uuid);
  const last = open.findLast((each) => each.plan !== null);
  const present = last?.plan ?? resource.plan;
  // The present plan may no longer be on offer; a repeated change to it still succeeds.
  if (plan !== present && !Object.hasOwn(plans, plan)) throw unknownPlan(plans, plan);
  // Written by an earlier try of this request, whose acknowledgement was lost.
  const own = open.find((each) => each.key === key);
  if (own?.isAccepted) return queued;
  if (own?.lease === FIRST_LEASE) return step;
  if (last && !last.isAccepted && !isLate) return null;
  if (last && !last.isAccepted && plan === present)
    return (await acceptChange(tx, uuid, last.key)) ? takesLonger(plan) : null;
  if (plan === present) return unchanged(ctx, tx, wish);
  if (open.length === 0 && resource.state !== "provisioning") {
    await writeChange(tx, wish, "claimed");
    return step;
  }
  await writeChange(tx, wish, "queued");
  return queued;
}

/**
 * The answer of a change that has begun; null: it was settled elsewhere. While its outcome cannot be stored the answer
 * is 202, as the step will be finished whatever happens, or the vendor's refusal, which is final.
 */
async function resultOrAccepted(
  ctx: Context,
  step: Step,
  plan: string,
  persist: Persist,
): Promise<Answer | null> {
  const run = ctx.work.start(step);
  const answer = await orNullAfter(ctx.pace.vendorMs, run);
  if (answer) return answer;
  const { uuid } = step.resource;
  try {
    if (await persist(() => acceptChange(ctx.db, uuid, step.key))) return takesLonger(plan);
  } catch (error) {
    ctx.log.warn(
      { uuid, requestId: step.requestId, plan, error },
      "The outcome of a plan change could not be stored in time; it will be stored later",
    );
    if (step.result?.is === "refused") return refusalAnswer(step.result.refusal);
    // A refusal from now on raises an alarm.
    step.detail.isAccepted = true;
    return takesLonger(plan);
  }
  return orNullAfter(ctx.pace.vendorMs, run);
}

async function unchanged({ log }: Context, tx: Queryable, { uuid, plan }: PlanChange): Promise<Answer> {
  // Only when the limit is passed, not at each call beyond it: a flood of calls must not become a flood of alarms.
  if ((await noteUnchanged(tx, uuid)) === MOST_UNCHANGED_CALLS)
    log.error({ alarm: "plan_unchanged_often", uuid, plan }, "Asked again and again for the plan it has");
  return { status: 200, body: JSON.stringify({ message: `The plan is ${plan} already.` }) };
}

const takesLonger = (plan: string) => laterAnswer(`The change to ${plan} takes a little longer.`);
