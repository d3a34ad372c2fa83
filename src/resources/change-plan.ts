import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import type { Queryable } from "../database/database.ts";
import {
  acceptChange,
  beginChange,
  enqueueChange,
  openStepsOf,
  writeProvisionStep,
  type OpenStep,
  type PlanChange,
} from "../work/queue.ts";
import { FIRST_LEASE, newStep, type Step } from "../work/step.ts";
import { orNullAfter } from "../within.ts";
import {
  answerBody,
  deprovisioned,
  laterAnswer,
  notFound,
  provisionFailed,
  refusalAnswer,
  unknownPlan,
  type Answer,
} from "./answers.ts";
import { requestDeadline, type WithinDeadline } from "./request-deadline.ts";
import { wasNeverProvisioned } from "./rows.ts";
import { lockedResource, MOST_UNCHANGED_CALLS, noteUnchanged } from "./store.ts";

// While a plan changes, the new plan stands in its step, and the resource keeps the plan it has until the change is
// made. So a refused change leaves nothing to take back, and changes that wait for one another start from what is then
// there.

type Begun =
  | { is: "begun"; step: Step }
  /** Behind other work of the resource. */
  | { is: "queued" }
  | { is: "unchanged"; earlier: number }
  /** A change is being made for another request, which is to be answered first: the last one answered counts. */
  | { is: "running"; step: OpenStep };

/**
 * Answers a plan change (assumed, section 1). It stores the change as a step, runs that step, and waits for the vendor's
 * result; after `pace.vendorMs` the change is accepted and made later. `receivedAtMs`: when the request arrived
 * (`performance.now()`). Throws a `Refusal` for what cannot be changed.
 */
export async function changePlan(
  ctx: Context,
  uuid: string,
  plan: string,
  requestId: string,
  receivedAtMs = performance.now(),
): Promise<Answer> {
  const within = requestDeadline(receivedAtMs, ctx.pace);
  const wish = { uuid, plan, key: randomUUID(), requestId };
  const until = receivedAtMs + ctx.pace.vendorMs;
  for (;;) {
    const mayQueue = performance.now() > until;
    const begun = await within(() => ctx.db.transaction((tx) => beginOrQueue(ctx, tx, wish, mayQueue)));
    if (begun.is === "unchanged") return unchanged(ctx, wish, begun.earlier);
    if (begun.is === "queued") {
      ctx.nudge("run-vendor-steps");
      return laterAnswer(`The change to ${plan} follows what is under way.`);
    }
    if (begun.is === "begun") {
      const answer = await resultOrAccepted(ctx, begun.step, plan, within);
      if (answer) return answer;
    } else if (mayQueue && (await within(() => acceptChange(ctx.db, uuid, begun.step.key)))) {
      return takesLonger(plan);
    }
    await sleep(50);
  }
}

async function beginOrQueue(
  { offer }: Context,
  tx: Queryable,
  wish: PlanChange,
  mayQueue: boolean,
): Promise<Begun> {
  const { uuid, plan, key, requestId } = wish;
  const resource = await lockedResource(tx, uuid);
  if (!resource || wasNeverProvisioned(resource)) throw notFound();
  if (resource.state === "deprovisioned") throw deprovisioned();
  if (resource.state === "failed") throw provisionFailed();
  const begun = () =>
    ({
      is: "begun",
      step: newStep(resource, { key, kind: "change_plan", detail: { plan }, requestId }),
    }) as const;
  const open = await openStepsOf(tx, uuid);
  const last = open.findLast((step) => step.plan !== null);
  // The present plan may no longer be on offer; a repeated change to it still succeeds.
  if (plan !== (last?.plan ?? resource.plan) && !Object.hasOwn(offer.plans, plan))
    throw unknownPlan(offer, plan);
  // Written by an earlier try of this request, whose acknowledgement was lost.
  const own = open.find((step) => step.key === key);
  if (own?.isAccepted) return { is: "queued" };
  if (own?.lease === FIRST_LEASE) return begun();
  if (last && !last.isAccepted && (last.plan === plan || !mayQueue)) return { is: "running", step: last };
  if (plan === (last?.plan ?? resource.plan))
    return { is: "unchanged", earlier: await noteUnchanged(tx, uuid) };
  if (open.length > 0 || resource.state === "provisioning") {
    // A change that is queued behind a provision needs a step to wait for.
    if (resource.answerStatus === null) await writeProvisionStep(tx, uuid);
    await enqueueChange(tx, wish);
    return { is: "queued" };
  }
  await beginChange(tx, wish);
  return begun();
}

/**
 * The answer of a change that has begun; null if it was settled elsewhere. The step is stored and will be finished
 * whatever happens: while its outcome cannot be stored the answer is 202, since the platform would take any other for
 * "not changed", or the vendor's refusal, which is final.
 */
async function resultOrAccepted(
  ctx: Context,
  step: Step,
  plan: string,
  within: WithinDeadline,
): Promise<Answer | null> {
  const run = ctx.work.start(step);
  const answer = await orNullAfter(ctx.pace.vendorMs, run);
  if (answer) return answer;
  try {
    if (await within(() => acceptChange(ctx.db, step.resource.uuid, step.key))) return takesLonger(plan);
  } catch (error) {
    const { uuid } = step.resource;
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

function unchanged({ log }: Context, { uuid, plan }: PlanChange, earlier: number): Answer {
  // Only when the limit is passed, not at each call beyond it: a flood of calls must not become a flood of alarms.
  if (earlier === MOST_UNCHANGED_CALLS)
    log.error({ alarm: "plan_unchanged_often", uuid, plan }, "Asked again and again for the plan it has");
  return { status: 200, body: answerBody({ message: `The plan is ${plan} already.` }) };
}

function takesLonger(plan: string): Answer {
  return laterAnswer(`The change to ${plan} takes a little longer.`);
}
