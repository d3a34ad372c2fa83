import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { statement, type Database, type Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Offer } from "./contract.ts";
import type { PlanChangeOutcome } from "./plan-change-outcome.ts";
import { answerBody, type Answer } from "./provision-answers.ts";
import { deprovisioned, provisionFailed, notFound, unknownPlan } from "./refusals.ts";
import { RESOURCE_COLUMNS, wasNeverProvisioned, type ResourceRow } from "./rows.ts";
import { STEP_LEASE_SECONDS, type Step } from "./steps/queue.ts";
import type { RunExclusive } from "./resource-mutex.ts";

/**
 * Answers a plan change, logged under `requestId` (assumed, section 1). Throws a `Refusal` for what cannot be changed.
 * `receivedAtMs`: when the request arrived (`performance.now()`); now unless given.
 */
export type ChangePlan = (
  uuid: string,
  plan: string,
  requestId: string,
  receivedAtMs?: number,
) => Promise<Answer>;

/**
 * How long after its arrival a plan change waits for an earlier one that another process is answering; then it is
 * queued.
 */
const PATIENCE_MS = 3_000;
/** How many changes of one resource to the plan it already has raise no alarm within an hour. */
const MOST_UNCHANGED_CALLS = 3;

const lockResource = statement(
  "lock_resource",
  `SELECT ${RESOURCE_COLUMNS} FROM resources r WHERE r.uuid = $1 FOR UPDATE`,
);
const openSteps = statement(
  "open_steps",
  `SELECT id, key, kind, detail->>'plan' AS plan, lease, leased_until > now() AS "isRunning" FROM steps
   WHERE uuid = $1 AND kind NOT IN ('discover', 'announce') ORDER BY id`,
);
/** The lease number of a newly written change; every claim raises it. */
const FIRST_LEASE = 1;
const begin = statement(
  "begin_plan_change",
  `INSERT INTO steps (uuid, key, kind, detail, due_at, attempts, lease, leased_until, request_id)
   VALUES ($1, $3, 'change_plan', $2, now(), 1, ${FIRST_LEASE}, now() + interval '${STEP_LEASE_SECONDS} seconds', $4) RETURNING id`,
);
// The platform is told yes, so the plan counts from now on; the step is queued behind the open ones. Its lease number
// is `FIRST_LEASE` too, but no process holds it: a request that tries again and does not know whether it began or
// queued must not take a step that another process has claimed for its own.
const enqueue = statement(
  "enqueue_plan_change",
  `WITH step AS (INSERT INTO steps (uuid, key, kind, detail, due_at, lease, request_id) VALUES ($1, $4, 'change_plan', $2, now(), ${FIRST_LEASE}, $5)
   ), told AS (INSERT INTO events (uuid, type, detail) VALUES ($1, 'plan_change_queued', $2)
   )
   UPDATE resources SET plan = $3, updated_at = now() WHERE uuid = $1`,
);
// Returns how often the same change was asked within the last hour, counted up to one more than raises the alarm. Only
// that many events are written, however long the platform repeats itself.
const tellUnchanged = statement(
  "tell_unchanged",
  `WITH earlier AS (
     SELECT 1 FROM events WHERE uuid = $1 AND type = 'plan_unchanged' AND at > now() - interval '1 hour'
     ORDER BY id DESC LIMIT ${MOST_UNCHANGED_CALLS + 1}
   ), told AS (
     INSERT INTO events (uuid, type) SELECT $1, 'plan_unchanged' WHERE (SELECT count(*) FROM earlier) <= ${MOST_UNCHANGED_CALLS}
   )
   SELECT count(*)::int AS earlier FROM earlier`,
);

type Begun =
  | { is: "begun"; step: Step }
  | { is: "queued" }
  | { is: "unchanged"; earlier: number }
  /** Another plan change is being answered: its outcome decides what this one starts from. */
  | { is: "running" };

export function createChangePlan(needs: {
  db: Database;
  offer: Offer;
  outcomeOf: PlanChangeOutcome;
  runExclusive: RunExclusive;
  onSettled(): void;
  log: Log;
}): ChangePlan {
  const { db, offer, outcomeOf, runExclusive, onSettled, log } = needs;

  return (uuid, plan, requestId, receivedAtMs = performance.now()) => {
    const key = randomUUID();
    return runExclusive(uuid, receivedAtMs, async (withinDeadline) => {
      const until = receivedAtMs + PATIENCE_MS;
      for (;;) {
        const mayQueue = performance.now() > until;
        const begun = await withinDeadline(() =>
          db.transaction((tx) => beginOrQueue(tx, { uuid, plan, key, requestId, mayQueue })),
        );
        if (begun.is === "unchanged") {
          // Only when the limit is passed, not at each call beyond it: a flood of calls must not become a flood of
          // alarms.
          if (begun.earlier === MOST_UNCHANGED_CALLS)
            log.error(
              { alarm: "plan_unchanged_often", uuid, plan },
              "Asked again and again for the plan it has",
            );
          return { status: 200, body: answerBody({ message: `The plan is ${plan} already.` }) };
        }
        if (begun.is === "queued") {
          onSettled();
          return {
            status: 202,
            body: answerBody({ message: `The change to ${plan} follows what is under way.` }),
          };
        }
        if (begun.is === "begun") return outcomeOf(begun.step, plan, withinDeadline);
        await sleep(50);
      }
    });
  };

  async function beginOrQueue(
    tx: Queryable,
    { mayQueue, ...wish }: Wish & { mayQueue: boolean },
  ): Promise<Begun> {
    const { uuid, plan, key, requestId } = wish;
    const [resource] = await tx.query<ResourceRow>(lockResource, [uuid]);
    if (!resource || wasNeverProvisioned(resource)) throw notFound();
    if (resource.state === "deprovisioned") throw deprovisioned();
    if (resource.state === "failed") throw provisionFailed();
    // The present plan may no longer be on offer; a repeated change to it still succeeds.
    if (resource.plan !== plan && !Object.hasOwn(offer.plans, plan)) throw unknownPlan(offer, plan);
    const open = await tx.query<OpenStep>(openSteps, [uuid]);
    const own = open.find((step) => step.key === key);
    // Written by an earlier try of this request, whose acknowledgement was lost.
    if (own)
      return own.isRunning && own.lease === FIRST_LEASE
        ? { is: "begun", step: newStep(resource, own.id, wish) }
        : { is: "queued" };
    const isAnswering = open.some(({ kind, isRunning }) => kind === "change_plan" && isRunning);
    if (isAnswering && !mayQueue) return { is: "running" };
    // An open change to another plan, whose process died before it answered, still runs later: then the present plan
    // must be queued behind it.
    const last = open.findLast(({ kind }) => kind === "change_plan");
    if (resource.plan === plan && (!last || last.plan === plan)) {
      const [told] = await tx.query<{ earlier: number }>(tellUnchanged, [uuid]);
      return { is: "unchanged", earlier: told!.earlier };
    }
    const detail = JSON.stringify({ previousPlan: resource.appliedPlan, plan });
    if (open.length > 0 || resource.state === "provisioning") {
      await tx.query(enqueue, [uuid, detail, plan, key, requestId]);
      return { is: "queued" };
    }
    const [row] = await tx.query<{ id: number }>(begin, [uuid, detail, key, requestId]);
    return { is: "begun", step: newStep(resource, row!.id, wish) };
  }
}

interface OpenStep {
  id: number;
  key: string;
  kind: string;
  /** The new plan of a plan change; null for other kinds of step. */
  plan: string | null;
  lease: number;
  isRunning: boolean | null;
}

/** A requested plan change, with the idempotency key of its step. */
interface Wish {
  uuid: string;
  plan: string;
  key: string;
  requestId: string;
}

function newStep(resource: ResourceRow, id: number, { key, plan, requestId }: Wish): Step {
  const detail = { previousPlan: resource.appliedPlan, plan };
  return { id, key, kind: "change_plan", detail, attempts: 1, lease: FIRST_LEASE, requestId, resource };
}
