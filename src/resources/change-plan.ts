import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import { type Persist, requestDeadline } from "../database/retry.ts";
import type { Queryable } from "../database/statement.ts";
import { Refusal } from "../errors.ts";
import { isOnSale } from "../offer.ts";
import { foundInTime, orNullAfter } from "../within.ts";
import { FIRST_LEASE } from "../work/step.ts";
import { type Answer, deprovisioned, laterAnswer, notFound, refusalAnswer, unknownPlan } from "./answers.ts";
import {
  acceptChange,
  MOST_UNCHANGED_CALLS,
  noteUnchanged,
  openStepsOf,
  type PlanChange,
  writeChange,
} from "./plan-store.ts";
import { wasNeverProvisioned } from "./rows.ts";
import { newStep, type Step } from "./step-kinds.ts";
import { lockedResource } from "./store.ts";

// While a plan changes, its step holds the new plan; the resource keeps its plan until the change is made. A refused change
// therefore needs no rollback, and a queued change starts from the plan that the changes before it have left.

/**
 * Answers a plan change (assumed, section 1): stores the change as a step, runs the step and waits for the vendor's
 * result. After `pace.vendorMs` the change is accepted with 202 and made later. While another request's change is being
 * made, that request is answered first, because the last answered change wins. Throws a `Refusal` for a change that is
 * not possible.
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
    const answer = await foundInTime(async (isLate) => {
      const begun = await persist(() => ctx.db.transaction((tx) => begin(ctx, tx, wish, isLate)));
      return begun && "kind" in begun ? resultOrAccepted(ctx, begun, plan, persist) : begun;
    }, receivedAtMs + ctx.pace.vendorMs);
    if (answer?.status === 202) ctx.wake.runVendorSteps();
    if (answer) return answer;
  }
}

/**
 * Begins a change. Returns a step if this process is to run it; an answer if another step runs first or the plan stays
 * the same; `null` if another request is to be answered first.
 */
async function begin(ctx: Context, tx: Queryable, wish: PlanChange, isLate: boolean) {
  const { uuid, plan, key, requestId, traceparent } = wish;
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
  // The present plan may no longer be on sale; a repeated change to it still succeeds.
  if (plan !== present && !isOnSale(ctx.offer, plan)) throw unknownPlan(ctx.offer, plan);
  // An earlier attempt of this request may have written the step, and the acknowledgement was lost.
  const own = open.find((each) => each.key === key);
  if (own?.isAccepted) return queued;
  if (own?.lease === FIRST_LEASE) return step;
  if (last && !last.isAccepted && !isLate) return null;
  if (last && !last.isAccepted && plan === present)
    return (await acceptChange(tx, uuid, last.key)) ? takesLonger(plan) : null;
  if (plan === present) return unchanged(ctx, tx, wish);
  if (open.length === 0 && resource.state !== "provisioning") {
    await writeChange(tx, { ...wish, was: present }, "claimed");
    return step;
  }
  await writeChange(tx, { ...wish, was: present }, "queued");
  return queued;
}

/**
 * The answer of a change that has begun; `null` if another process settled it. If the outcome cannot be stored, the
 * answer is the vendor's refusal, which is final, or else 202: the stored step will be finished in any case.
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
      "The result of a plan change could not be stored before its request was answered; still retrying",
    );
    if (step.result?.is === "refused") return refusalAnswer(step.result.refusal);
    // The customer was answered 202, so a later refusal must raise an alarm.
    step.detail.isAccepted = true;
    return takesLonger(plan);
  }
  return orNullAfter(ctx.pace.vendorMs, run);
}

async function unchanged({ log }: Context, tx: Queryable, { uuid, plan }: PlanChange): Promise<Answer> {
  // One alarm when the limit is passed, not one for each further call.
  if ((await noteUnchanged(tx, uuid)) === MOST_UNCHANGED_CALLS)
    log.error(
      { alarm: "plan_unchanged_often", uuid, plan },
      `The platform requested a plan change to the present plan more than ${MOST_UNCHANGED_CALLS} times in an hour`,
    );
  return { status: 200, body: JSON.stringify({ message: `The plan is ${plan} already.` }) };
}

const takesLonger = (plan: string) => laterAnswer(`The change to ${plan} takes a little longer.`);
