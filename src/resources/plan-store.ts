import { anyRow, oneRow, type Queryable } from "../database/database.ts";
import { statement } from "../database/statement.ts";
import { STEP_LEASE_SECONDS } from "../work/queue.ts";
import { FIRST_LEASE } from "../work/step.ts";
import { whereBeside, type Step } from "./step.ts";

// The steps of plan changes. While a plan changes, the new plan stands in its step (`detail.plan`).

interface OpenStep {
  key: string;
  /** The new plan, of a plan change. */
  plan: string | null;
  isAccepted: boolean;
  lease: number;
}
const openSteps = statement<{ uuid: string }, OpenStep>("open_steps").sql(
  `SELECT key, detail->>'plan' AS plan, detail ? 'isAccepted' AS "isAccepted", lease FROM steps
   WHERE uuid = :uuid AND NOT ${whereBeside("steps")} ORDER BY id`,
);

/** The steps that a plan change waits for. */
export const openStepsOf = (tx: Queryable, uuid: string) => tx.query(openSteps, { uuid });

/** A requested plan change, with the idempotency key of its step. */
export type PlanChange = Pick<Step, "uuid" | "key" | "requestId" | "traceparent"> & { plan: string };

const planChange = statement<PlanChange & { isQueued: boolean }>("write_plan_change").sql(
  `WITH step AS (
     INSERT INTO steps (uuid, key, kind, detail, due_at, attempts, lease, leased_until, request_id, traceparent)
     SELECT :uuid::uuid, :key::uuid, 'change_plan',
       jsonb_build_object('plan', :plan::text) || CASE WHEN :isQueued THEN '{"isAccepted": true}' ELSE '{}' END::jsonb,
       now(), CASE WHEN :isQueued THEN 0 ELSE 1 END,
       -- 0, so that a request which tries again, and does not know whether it began or queued, does not take a step that
       -- another process has claimed.
       CASE WHEN :isQueued THEN 0 ELSE ${FIRST_LEASE} END,
       CASE WHEN NOT :isQueued THEN now() + interval '${STEP_LEASE_SECONDS} seconds' END,
       :requestId::text, :traceparent::text
   )
   INSERT INTO events (uuid, type, detail)
   SELECT :uuid, 'plan_change_queued', jsonb_build_object('plan', :plan::text) WHERE :isQueued::bool`,
);

/** Writes the step of a plan change: claimed by this process, or, accepted, behind what is under way. */
export const writeChange = (tx: Queryable, change: PlanChange, as: "claimed" | "queued") =>
  tx.query(planChange, { ...change, isQueued: as === "queued" });

const accept = statement<{ uuid: string; key: string }>("accept_plan").sql(
  `UPDATE steps SET detail = detail || '{"isAccepted": true}'
   WHERE uuid = :uuid AND key = :key AND kind IN ('change_plan', 'finish') RETURNING id`,
);

/** Accepts a change that is still to be made. False: its step has ended. */
export const acceptChange = (db: Queryable, uuid: string, key: string) => anyRow(db, accept, { uuid, key });

/** How many changes of one resource to the plan it already has raise no alarm within an hour. */
export const MOST_UNCHANGED_CALLS = 3;

// Only one event more than raises the alarm is written within an hour, however long the platform repeats itself.
const unchanged = statement<{ uuid: string }, { earlier: number }>("note_unchanged").sql(
  `WITH earlier AS (
     SELECT 1 FROM events WHERE uuid = :uuid AND type = 'plan_unchanged' AND at > now() - interval '1 hour'
     ORDER BY id DESC LIMIT ${MOST_UNCHANGED_CALLS + 1}
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT :uuid, 'plan_unchanged' WHERE (SELECT count(*) FROM earlier) <= ${MOST_UNCHANGED_CALLS}
   )
   SELECT count(*)::int AS earlier FROM earlier`,
);

/** How often the same change was requested within the last hour, up to one more than raises the alarm. */
export const noteUnchanged = async (tx: Queryable, uuid: string) =>
  (await oneRow(tx, unchanged, { uuid }))!.earlier;
