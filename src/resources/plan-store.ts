import { anyRow, oneRow, type Queryable, statement } from "../database/statement.ts";
import { STEP_LEASE_SECONDS } from "../work/queue.ts";
import { FIRST_LEASE } from "../work/step.ts";
import { type Step, whereIndependent } from "./step-kinds.ts";

// The steps of plan changes. While a plan changes, its step holds the new plan (`detail.plan`).

interface OpenStep {
  key: string;
  /** The new plan of a plan change; `null` for other steps. */
  plan: string | null;
  isAccepted: boolean;
  lease: number;
}
const openSteps = statement<{ uuid: string }, OpenStep>("open_steps").sql(
  `SELECT key, detail->>'plan' AS plan, detail ? 'isAccepted' AS "isAccepted", lease FROM steps
   WHERE uuid = :uuid AND NOT ${whereIndependent("steps")} ORDER BY id`,
);

/** The steps that a plan change waits for. */
export const openStepsOf = (tx: Queryable, uuid: string) => tx.query(openSteps, { uuid });

/** A requested plan change, with the idempotency key of its step. */
export type PlanChange = Pick<Step, "uuid" | "key" | "requestId" | "traceparent"> & { plan: string };

/** `was`: the plan that it changes, or that of the change before it. */
const planChange = statement<PlanChange & { was: string; isQueued: boolean }>("write_plan_change").sql(
  `WITH step AS (
     INSERT INTO steps (uuid, key, kind, detail, due_at, attempts, lease, leased_until, request_id, traceparent)
     SELECT :uuid::uuid, :key::uuid, 'change_plan',
       jsonb_build_object('plan', :plan::text) || CASE WHEN :isQueued THEN '{"isAccepted": true}' ELSE '{}' END::jsonb,
       now(), CASE WHEN :isQueued THEN 0 ELSE 1 END,
       -- A retried request runs its own step if the lease is FIRST_LEASE. It must not run a queued step, which any process
       -- may claim, so that one starts with 0.
       CASE WHEN :isQueued THEN 0 ELSE ${FIRST_LEASE} END,
       CASE WHEN NOT :isQueued THEN now() + interval '${STEP_LEASE_SECONDS} seconds' END,
       :requestId::text, :traceparent::text
   )
   INSERT INTO events (uuid, type, detail)
   SELECT :uuid, CASE WHEN :isQueued::bool THEN 'plan_change_queued' ELSE 'plan_change_asked' END,
     jsonb_build_object('plan', :plan::text, 'was', :was::text)`,
);

/** Writes the step of a plan change: either claimed by this process, or accepted and queued behind the open steps. */
export const writeChange = (tx: Queryable, change: PlanChange & { was: string }, as: "claimed" | "queued") =>
  tx.query(planChange, { ...change, isQueued: as === "queued" });

const accept = statement<{ uuid: string; key: string }>("accept_plan").sql(
  `UPDATE steps SET detail = detail || '{"isAccepted": true}'
   WHERE uuid = :uuid AND key = :key AND kind IN ('change_plan', 'finish') RETURNING id`,
);

/** Marks a change that is still to be made as accepted. Returns `false` if its step has ended. */
export const acceptChange = (db: Queryable, uuid: string, key: string) => anyRow(db, accept, { uuid, key });

/** How many requests for the present plan of one resource are allowed within an hour without an alarm. */
export const MOST_UNCHANGED_CALLS = 3;

// At most one event more than the limit is written within an hour, so repeated requests do not fill the table.
const unchanged = statement<{ uuid: string }, { earlier: number }>("note_unchanged").sql(
  `WITH earlier AS (
     SELECT 1 FROM events WHERE uuid = :uuid AND type = 'plan_unchanged' AND at > now() - interval '1 hour'
     ORDER BY id DESC LIMIT ${MOST_UNCHANGED_CALLS + 1}
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT :uuid, 'plan_unchanged' WHERE (SELECT count(*) FROM earlier) <= ${MOST_UNCHANGED_CALLS}
   )
   SELECT count(*)::int AS earlier FROM earlier`,
);

/** Notes a request for the present plan. Returns how many came before it in the last hour, counted up to the limit + 1. */
export const noteUnchanged = async (tx: Queryable, uuid: string) =>
  (await oneRow(tx, unchanged, { uuid }))!.earlier;
