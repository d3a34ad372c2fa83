import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { statement, type Database, type Queryable } from "../database/database.ts";
import type { Log } from "../log.ts";
import type { Offer } from "./contract.ts";
import type { PlanChangeOutcome } from "./plan-change-outcome.ts";
import { answerBody, type Answer } from "./provision-answers.ts";
import { deprovisioned, neverProvisioned, notFound, unknownPlan } from "./refusals.ts";
import { RESOURCE_COLUMNS, wasNeverProvisioned, type ResourceRow } from "./rows.ts";
import { STEP_LEASE_SECONDS, type Step } from "./steps/queue.ts";
import type { StepRunner } from "./steps/runner.ts";
import type { InTurn } from "./turns.ts";

/**
 * Answers a plan change, which the log calls `requestId` (assumed, section 1). Throws a `Refusal` for what cannot be
 * changed. `cameAt`: when the request came, by `performance.now()`, unless just now.
 */
export type ChangePlan = (uuid: string, plan: string, requestId: string, cameAt?: number) => Promise<Answer>;

/** For so long since it came a plan change waits for the one before it, which another process is just answering. */
const PATIENCE_MS = 3_000;
/** So many changes of one resource to the plan it has may come within an hour; one more, and somebody should look. */
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
/** The lease of a change as it is written: whoever claims it has a later one. */
const FIRST_LEASE = 1;
const begin = statement(
  "begin_plan_change",
  `INSERT INTO steps (uuid, key, kind, detail, due_at, attempts, lease, leased_until, request_id)
   VALUES ($1, $3, 'change_plan', $2, now(), 1, ${FIRST_LEASE}, now() + interval '${STEP_LEASE_SECONDS} seconds', $4) RETURNING id`,
);
// The platform is told yes, so the plan counts from now on; the work stands in the queue behind what runs. Its lease is
// the first as well, which nobody holds: a request that does not know whether it began or queued must not take for its own
// what another process has claimed.
const enqueue = statement(
  "enqueue_plan_change",
  `WITH step AS (INSERT INTO steps (uuid, key, kind, detail, due_at, lease, request_id) VALUES ($1, $4, 'change_plan', $2, now(), ${FIRST_LEASE}, $5)
   ), told AS (INSERT INTO events (uuid, type, detail) VALUES ($1, 'plan_change_queued', $2)
   )
   UPDATE resources SET plan = $3, updated_at = now() WHERE uuid = $1`,
);
// Answers how often the same was asked within the hour before, counted to one more than is an alarm: so many are written
// down, and no more, however long a platform repeats itself.
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
  runner: StepRunner;
  outcomeOf: PlanChangeOutcome;
  inTurn: InTurn;
  onSettled(): void;
  log: Log;
}): ChangePlan {
  const { db, offer, runner, outcomeOf, inTurn, onSettled, log } = needs;

  return (uuid, plan, requestId, cameAt = performance.now()) => {
    const key = randomUUID();
    return inTurn(uuid, cameAt, async (patience) => {
      const until = cameAt + PATIENCE_MS;
      for (;;) {
        const mayQueue = performance.now() > until;
        const begun = await patience(() =>
          db.transaction((tx) => beginOrQueue(tx, { uuid, plan, key, requestId, mayQueue })),
        );
        if (begun.is === "unchanged") {
          // When the limit is passed, and not at each call beyond: a flood of calls is no reason for a flood of alarms.
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
        if (begun.is === "begun") {
          const { step } = begun;
          return runner.hiding(step, () => outcomeOf(step, plan, patience));
        }
        await wait(50);
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
    if (resource.state === "failed") throw neverProvisioned();
    // The one it has may be sold no more: a repeated change to it is a success all the same.
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
    // One whose process died before it answered is still to come, and would bring a plan that nobody wants any more.
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
  /** The plan that a change leads to; null: it is none. */
  plan: string | null;
  lease: number;
  isRunning: boolean | null;
}

/** A plan change that was asked for, under the idempotency key of its step. */
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
