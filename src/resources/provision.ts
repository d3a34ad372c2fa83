import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { statement } from "../database/database.ts";
import { FIRST_LEASE, type Step } from "../work/step.ts";
import { givenAnswer, laterAnswer, type Answer } from "./answers.ts";
import { orNullAfter } from "../within.ts";
import type { NewResource, ProvisionRequest } from "./provision-store.ts";
import { deprovisioned, unknownPlan } from "./refusals.ts";
import { createRequestDeadline, type WithinDeadline } from "./request-deadline.ts";
import { findResource, type ResourceRow } from "./rows.ts";

// After a plan change, the plan of the first request is no longer stored: a repeated request with another plan is then
// taken for a redelivery of it.
const countPlanChanges = statement(
  "count_plan_changes",
  `SELECT count(*)::int AS changes FROM (
     SELECT FROM events WHERE uuid = $1 AND type IN ('plan_change_queued', 'plan_changed') LIMIT 1) one`,
);

/**
 * Answers a provision request (assumed, section 1): delivered at least once, carried out exactly once. It stores the
 * resource with its first step, runs that step, and waits for the answer: the vendor's result, or "later" after
 * `pace.vendorMs`, whichever is stored first. A repeated request waits for the same answer, byte for byte.
 * `receivedAtMs`: when the request arrived (`performance.now()`). `isHeard`: whether its caller still waits.
 * Throws a `Refusal` for what cannot be provisioned.
 */
export async function provision(
  ctx: Context,
  request: ProvisionRequest,
  receivedAtMs = performance.now(),
  isHeard = () => true,
): Promise<Answer> {
  const { uuid } = request;
  const within = createRequestDeadline(receivedAtMs, ctx.pace);
  const plan = Object.hasOwn(ctx.offer.plans, request.plan) ? ctx.offer.plans[request.plan]! : null;
  if (!plan) {
    if (await within(() => findResource(ctx.db, uuid))) return again(ctx, request, within, isHeard);
    throw unknownPlan(ctx.offer, request.plan);
  }
  const key = randomUUID();
  const answer = plan.later === undefined ? null : laterAnswer(plan.later, uuid);
  const stored = await within((deadline) => ctx.provisions.insert(request, key, answer, deadline));
  if (!stored) return again(ctx, request, within, isHeard);
  if (!request.grant)
    ctx.log.error(
      { alarm: "no_grant", uuid, requestId: request.requestId },
      "A provision came without a grant",
    );
  if (answer) return answer;
  const run = ctx.work.start(firstStep(request, stored, key));
  return (await orNullAfter(ctx.pace.vendorMs, run)) ?? firstOrLater(ctx, uuid, within);
}

/**
 * A request whose uuid is stored already. Its grant, if it differs from the stored one, is taken first: after a success,
 * the latest code is exchanged. A request whose caller no longer waits brings no grant: a process that was frozen may
 * come to a request older than one that another process has answered since.
 */
async function again(
  ctx: Context,
  request: ProvisionRequest,
  within: WithinDeadline,
  isHeard: () => boolean,
): Promise<Answer> {
  const { uuid, grant, requestId } = request;
  if (grant && isHeard() && (await within(() => ctx.provisions.receiveGrant(uuid, grant, requestId))))
    ctx.log.info({ uuid, requestId }, "A repeated provision brought a new grant");
  const until = performance.now() + ctx.pace.vendorMs;
  for (let looks = 0; ; looks += 1) {
    const resource = await within(() => findResource(ctx.db, uuid));
    if (!resource) throw new Error(`Resource ${uuid} is neither new nor stored.`);
    if (resource.answerStatus !== null || resource.state === "deprovisioned") {
      await logDifferences(ctx, resource, request);
      return answerOf(ctx, resource);
    }
    // The process that began it may have died: then its step is due.
    if (looks === 0) ctx.work.nudge();
    if (performance.now() > until) return firstOrLater(ctx, uuid, within);
    await sleep(50);
  }
}

/** Stores "later" as the answer, unless one was stored first. */
async function firstOrLater(ctx: Context, uuid: string, within: WithinDeadline): Promise<Answer> {
  const later = await within(() => ctx.answers.later(uuid));
  if (later) return later;
  const resource = await within(() => findResource(ctx.db, uuid));
  if (!resource) throw new Error(`Resource ${uuid} is gone.`);
  return answerOf(ctx, resource);
}

function answerOf({ vault }: Context, resource: ResourceRow): Answer {
  const answer = givenAnswer(vault, resource);
  if (!answer) throw deprovisioned();
  return answer;
}

/** Logs the members in which a repeated request differs from the first one, without their values. */
async function logDifferences({ db, log }: Context, stored: ResourceRow, request: ProvisionRequest) {
  const { uuid, requestId, plan: asked } = request;
  const differs = [
    ...(stored.plan !== asked && !(await wasPlanChanged()) ? ["plan"] : []),
    ...(stored.region !== request.region ? ["region"] : []),
    // Compared as plain objects: the options of a request have no prototype.
    ...(isDeepStrictEqual({ ...stored.options }, { ...request.options }) ? [] : ["options"]),
  ];
  if (differs.length === 0 || stored.state === "deprovisioned") return;
  const told = { uuid, requestId, differs, kept: stored.plan, asked };
  log.warn(told, "A repeated provision differs; the first answer stands");

  // Needed for the log only: an error of the database is ignored, so that it does not delay or change the answer.
  async function wasPlanChanged(): Promise<boolean> {
    const rows = await db.query<{ changes: number }>(countPlanChanges, [uuid]).catch(() => []);
    return (rows[0]?.changes ?? 0) > 0;
  }
}

function firstStep(request: ProvisionRequest, { stepId, ...sealed }: NewResource, key: string): Step {
  const { uuid, name, plan, region, options, requestId } = request;
  const resource: ResourceRow = {
    ...{ uuid, name, plan, region, options, ...sealed },
    ...{ state: "provisioning", answerStatus: null, sealedAnswer: null, sealedConfig: null },
  };
  return {
    id: stepId,
    key,
    kind: "provision",
    detail: {},
    attempts: 1,
    lease: FIRST_LEASE,
    requestId,
    resource,
  };
}
