import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { statement, type Queryable } from "../database/database.ts";
import { STEP_LEASE_SECONDS } from "../work/queue.ts";
import { FIRST_LEASE, type Step } from "../work/step.ts";
import { orNullAfter } from "../within.ts";
import { answerBody, laterAnswer, refusalAnswer, type Answer } from "./answers.ts";
import { deprovisioned, notFound, provisionFailed, unknownPlan } from "./refusals.ts";
import { createRequestDeadline, type WithinDeadline } from "./request-deadline.ts";
import { RESOURCE_COLUMNS, wasNeverProvisioned, type ResourceRow } from "./rows.ts";

// While a plan changes, the new plan stands in its step, and the resource keeps the plan it has until the change is
// made. So a refused change leaves nothing to take back, and changes that wait for one another start from what is then
// there.

/** How many changes of one resource to the plan it already has raise no alarm within an hour. */
const MOST_UNCHANGED_CALLS = 3;

const lockResource = statement(
  "lock_resource",
  `SELECT ${RESOURCE_COLUMNS} FROM resources r WHERE r.uuid = $1 FOR UPDATE`,
);
const openSteps = statement(
  "open_steps",
  `SELECT id, key, kind, detail->>'plan' AS plan, detail ? 'isAccepted' AS "isAccepted", lease FROM steps
   WHERE uuid = $1 AND kind NOT IN ('discover', 'announce') ORDER BY id`,
);
const begin = statement(
  "begin_plan_change",
  `INSERT INTO steps (uuid, key, kind, detail, due_at, attempts, lease, leased_until, request_id)
   VALUES ($1, $3, 'change_plan', jsonb_build_object('plan', $2::text), now(), 1, ${FIRST_LEASE}, now() + interval '${STEP_LEASE_SECONDS} seconds', $4) RETURNING id`,
);
// Its lease number is 0, so that a request which tries again, and does not know whether it began or queued, does not take
// a step that another process has claimed.
const enqueue = statement(
  "enqueue_plan_change",
  `WITH step AS (INSERT INTO steps (uuid, key, kind, detail, due_at, lease, request_id) VALUES ($1, $3, 'change_plan', jsonb_build_object('plan', $2::text, 'isAccepted', true), now(), 0, $4))
   INSERT INTO events (uuid, type, detail) VALUES ($1, 'plan_change_queued', jsonb_build_object('plan', $2::text))`,
);
const accept = statement(
  "accept_plan",
  `UPDATE steps SET detail = detail || '{"isAccepted": true}' WHERE id = $1 AND kind IN ('change_plan', 'finish') RETURNING id`,
);
// Returns how often the same change was requested within the last hour, counted up to one more than raises the alarm.
// Only that many events are written, however long the platform repeats itself.
const noteUnchanged = statement(
  "note_unchanged",
  `WITH earlier AS (
     SELECT 1 FROM events WHERE uuid = $1 AND type = 'plan_unchanged' AND at > now() - interval '1 hour'
     ORDER BY id DESC LIMIT ${MOST_UNCHANGED_CALLS + 1}
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT $1, 'plan_unchanged' WHERE (SELECT count(*) FROM earlier) <= ${MOST_UNCHANGED_CALLS}
   )
   SELECT count(*)::int AS earlier FROM earlier`,
);

/** A requested plan change, with the idempotency key of its step. */
interface Wish {
  uuid: string;
  plan: string;
  key: string;
  requestId: string;
}

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
  const within = createRequestDeadline(receivedAtMs, ctx.pace);
  const wish = { uuid, plan, key: randomUUID(), requestId };
  const until = receivedAtMs + ctx.pace.vendorMs;
  for (;;) {
    const mayQueue = performance.now() > until;
    const begun = await within(() => ctx.db.transaction((tx) => beginOrQueue(ctx, tx, wish, mayQueue)));
    if (begun.is === "unchanged") return unchanged(ctx, wish, begun.earlier);
    if (begun.is === "queued") {
      ctx.work.nudge();
      return laterAnswer(`The change to ${plan} follows what is under way.`);
    }
    if (begun.is === "begun") {
      const answer = await resultOrAccepted(ctx, begun.step, plan, within);
      if (answer) return answer;
    } else if (mayQueue && (await within(() => isAccepted(ctx, begun.step.id)))) {
      return takesLonger(plan);
    }
    await sleep(50);
  }
}

async function beginOrQueue(
  { offer }: Context,
  tx: Queryable,
  wish: Wish,
  mayQueue: boolean,
): Promise<Begun> {
  const { uuid, plan, key, requestId } = wish;
  const [resource] = await tx.query<ResourceRow>(lockResource, [uuid]);
  if (!resource || wasNeverProvisioned(resource)) throw notFound();
  if (resource.state === "deprovisioned") throw deprovisioned();
  if (resource.state === "failed") throw provisionFailed();
  const open = await tx.query<OpenStep>(openSteps, [uuid]);
  const last = open.findLast((step) => step.plan !== null);
  // The present plan may no longer be on offer; a repeated change to it still succeeds.
  if (plan !== (last?.plan ?? resource.plan) && !Object.hasOwn(offer.plans, plan))
    throw unknownPlan(offer, plan);
  // Written by an earlier try of this request, whose acknowledgement was lost.
  const own = open.find((step) => step.key === key);
  if (own?.isAccepted) return { is: "queued" };
  if (own?.lease === FIRST_LEASE) return { is: "begun", step: newStep(resource, own.id, wish) };
  if (last && !last.isAccepted && (last.plan === plan || !mayQueue)) return { is: "running", step: last };
  if (plan === (last?.plan ?? resource.plan)) {
    const [noted] = await tx.query<{ earlier: number }>(noteUnchanged, [uuid]);
    return { is: "unchanged", earlier: noted!.earlier };
  }
  if (open.length > 0 || resource.state === "provisioning") {
    await tx.query(enqueue, [uuid, plan, key, requestId]);
    return { is: "queued" };
  }
  const [row] = await tx.query<{ id: number }>(begin, [uuid, plan, key, requestId]);
  return { is: "begun", step: newStep(resource, row!.id, wish) };
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
    if (await within(() => isAccepted(ctx, step.id))) return takesLonger(plan);
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

/** Accepts a change that is still to be made. False: its step has ended. */
async function isAccepted({ db }: Context, id: number): Promise<boolean> {
  return (await db.query(accept, [id])).length > 0;
}

function unchanged({ log }: Context, { uuid, plan }: Wish, earlier: number): Answer {
  // Only when the limit is passed, not at each call beyond it: a flood of calls must not become a flood of alarms.
  if (earlier === MOST_UNCHANGED_CALLS)
    log.error({ alarm: "plan_unchanged_often", uuid, plan }, "Asked again and again for the plan it has");
  return { status: 200, body: answerBody({ message: `The plan is ${plan} already.` }) };
}

function takesLonger(plan: string): Answer {
  return laterAnswer(`The change to ${plan} takes a little longer.`);
}

interface OpenStep {
  id: number;
  key: string;
  kind: string;
  /** The new plan of a plan change; null for other kinds of step. */
  plan: string | null;
  isAccepted: boolean;
  lease: number;
}

function newStep(resource: ResourceRow, id: number, { key, plan, requestId }: Wish): Step {
  return {
    id,
    key,
    kind: "change_plan",
    detail: { plan },
    attempts: 1,
    lease: FIRST_LEASE,
    requestId,
    resource,
  };
}
