import { statement, type Database, type Queryable } from "../database/database.ts";
import { whereBroughtBack, whereHeld } from "../processes/history-store.ts";
import { RESOURCE_COLUMNS, type ResourceRow } from "../resources/rows.ts";
import { whereCan } from "../resources/states.ts";
import {
  whereAnnouncing,
  eachLane,
  FIRST_LEASE,
  LEASE,
  whereIn,
  NOTICED,
  whereOfPlanChange,
  type Lane,
  type Step,
} from "./step.ts";

// The queue of steps: write, claim, hold, put off, end, next due. Steps are claimed like credentials: one statement, a
// lease, the database's clock. What is written after a claim is fenced by its lease number. Two steps of one resource that
// change it never run at the same time or out of order. Discovering its app and announcing its config vars, as they are
// by then, wait for no other step and hold none up, nor does retiring old credentials, but that the next rotation waits
// for it; a clean-up has nothing left to wait for.

/** Steps of each lane under way at once in one process. */
export const CONCURRENCY = 16;
/** After so many failed attempts an alarm is raised, and each time after as many more. */
export const ALARM_AFTER_ATTEMPTS = 12;
/** For so long a provision may be answered "later"; for any other step that goes on for longer, an alarm is raised. */
const GIVEN_UP_AFTER = "interval '11 hours'";
/** SQL condition on a step: the vendor's service has said "later" for so long. What it said ends with the step's kind. */
export const IS_LATE = `(detail->>'saidSince')::timestamptz < now() - ${GIVEN_UP_AFTER}`;
export const UNSAID = `'{said,saidSince,isLate,isOfPlatform}'::text[]`;
/** SQL condition on a step: its last call failed, and not by an answer of the platform. */
export const HAS_FAILED = `(last_error IS NOT NULL AND NOT detail ? 'isOfPlatform')`;

/** The step that was claimed, by the first three values of a statement. */
export const IS_OURS = `s.uuid = $1 AND s.key = $2 AND s.lease = $3`;
export const claimOf = ({ resource: { uuid }, key, lease }: Step) => [uuid, key, lease];

/** The states of a credential in which the platform can be told something, now or when it is refreshed. */
export const HAS_TOKENS = `'active', 'needs_reauth'`;

/** SQL: when a rotation is due that stands before all that is due. */
export const BEFORE_ROTATIONS = `least(now(), (SELECT min(due_at) FROM steps WHERE ${whereIn("rotation")}) - interval '1 millisecond')`;

export const whereBeside = (step: string) =>
  `(${step}.kind IN ('discover', 'announce', 'retire') OR ${whereAnnouncing(step)})`;

// After a restore (processes/history.ts). A step that a request has brought since is carried out, but what it would push
// may still hold values of before.
export const whereFree = (step: string) =>
  `(${step}.kind = 'discover' OR NOT ${whereHeld(`(
        ${step}.${whereIn("rotation")} OR ${step}.created_at < h.restored_at
        OR (${step}.kind = 'announce' AND (SELECT r.created_at FROM resources r WHERE r.uuid = ${step}.uuid) < h.restored_at))`)})`;

export function whereNext(step: string): string {
  return `(${whereFree(step)} AND ${whereTurn(step)})`;
}

/** Without regard to a hold. */
export function whereTurn(step: string): string {
  return `(${whereBeside(step)} OR ${step}.kind = 'clean_up' OR NOT EXISTS (
        SELECT 1 FROM steps earlier WHERE earlier.uuid = ${step}.uuid AND earlier.id < ${step}.id
          AND (NOT ${whereBeside("earlier")} OR (earlier.kind = 'retire' AND ${step}.kind = 'rotate'))))`;
}

/** The columns of a {@link StepRow}, of tables aliased `s` and `r`. */
export const STEP_COLUMNS = `s.key, s.kind, s.detail, s.attempts, s.lease, s.request_id AS "requestId", s.traceparent, ${RESOURCE_COLUMNS}`;
export type StepRow = Omit<Step, "resource"> & ResourceRow;

// Each lane has an index of what is due in it, and of nothing else, so that a claim never reads past the other lane's
// steps, however many those are. The inner limit tells the planner, which does not see $1, that few rows are wanted; no
// more rows are locked than the outer limit asks for. Of a claimed step `due_at` is when its call began, so that one
// which waited for its turn for hours is not taken for one that hangs.
const claimDue = eachLane((lane) =>
  statement(
    `claim_${lane}_steps`,
    `UPDATE steps s SET lease = s.lease + 1, attempts = s.attempts + 1, leased_until = now() + ${LEASE}, due_at = now()
  FROM resources r WHERE r.uuid = s.uuid AND s.id = ANY(ARRAY(SELECT id FROM (
    SELECT due.id FROM steps due
    WHERE due.due_at <= now() AND due.${whereIn(lane)} AND (due.leased_until IS NULL OR due.leased_until <= now())
      AND ${whereNext("due")}
    ORDER BY due.due_at LIMIT ${CONCURRENCY} FOR UPDATE SKIP LOCKED) few LIMIT $1))
  RETURNING ${STEP_COLUMNS}`,
  ),
);

export async function claimSteps(db: Queryable, lane: Lane, most: number): Promise<Step[]> {
  const claimedAtMs = Date.now();
  const steps = stepsOf(await db.query<StepRow>(claimDue[lane], [most]));
  return steps.map((step) => ({ ...step, claimedAtMs }));
}

export function stepsOf(rows: readonly StepRow[]): Step[] {
  return rows.map((row) => {
    const { key, kind, detail, attempts, lease, requestId, traceparent } = row;
    return { key, kind, detail, attempts, lease, requestId, traceparent, resource: row };
  });
}

// A step that was put off meanwhile, and not claimed anew, has no lease to extend.
const hold = statement(
  "hold_step",
  `UPDATE steps s SET leased_until = now() + ${LEASE} WHERE ${IS_OURS} AND s.leased_until IS NOT NULL RETURNING id`,
);

/** Extends the lease. False: the step is not ours any more, or no longer wanted. */
export const holdStep = async (db: Queryable, step: Step): Promise<boolean> =>
  (await db.query(hold, claimOf(step))).length > 0;

// Checks the step's kind too: a statement that ended its work may have been committed and only the acknowledgement lost.
// A step that was cut off ($5 null) has made no try. One that said "later" ($7) has not failed, so its attempts are
// counted anew. `isLate`: its first "later" is longer ago than a provision may take. `dueSince`: when it first fell due,
// of one that fails again and again.
const DUE_SINCE = `jsonb_build_object('dueSince', s.due_at)`;
const putOff = statement(
  "put_off_step",
  `UPDATE steps s SET due_at = now() + make_interval(secs => $4), leased_until = NULL,
     last_error = CASE WHEN $7::text IS NULL THEN coalesce($5, s.last_error) END,
     attempts = CASE WHEN $7 IS NOT NULL THEN 0 WHEN $5::text IS NULL THEN s.attempts - 1 ELSE s.attempts END,
     detail = (CASE WHEN s.last_error IS NULL THEN s.detail || ${DUE_SINCE} ELSE ${DUE_SINCE} || s.detail END) - CASE WHEN coalesce($5, $7) IS NULL THEN '' ELSE 'isOfPlatform' END::text
       || CASE WHEN $8 THEN '{"isOfPlatform": true}' ELSE '{}' END::jsonb
       || CASE WHEN $7 IS NULL THEN '{}' ELSE jsonb_build_object('said', $7, 'saidSince', coalesce(s.detail->>'saidSince', now()::text)) END
       || CASE WHEN ${IS_LATE} THEN '{"isLate": true}' ELSE '{}' END::jsonb
   WHERE ${IS_OURS} AND s.kind = $6
   RETURNING ${IS_LATE} AS "isLate"`,
);

/**
 * Puts a step off by so many `seconds`. `error`: why it failed, `isOfPlatform`: by a call to the platform; `said`: what
 * the vendor's function said in place of a result; neither: it was cut off. Null: the step is not ours any more, or its
 * end is stored. `isLate`: it has gone on for 11 hours.
 */
export async function putOffStep(
  db: Queryable,
  step: Step,
  seconds: number,
  { error, said, isOfPlatform = false }: { error?: string; said?: string; isOfPlatform?: boolean },
): Promise<{ isLate: boolean | null } | null> {
  const values = [...claimOf(step), seconds, error ?? null, step.kind, said ?? null, isOfPlatform];
  return (await db.query<{ isLate: boolean | null }>(putOff, values))[0] ?? null;
}

const finish = statement("finish_step", `DELETE FROM steps s WHERE ${IS_OURS}`);

export const endStep = (db: Queryable, step: Step) => db.query(finish, claimOf(step));

// What must wait until a call that was cut off has noticed is due at the end of that lease.
const nextDue = eachLane((lane) =>
  statement(
    `next_${lane}_step_due`,
    `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM steps
   WHERE due_at > now() - interval '1 second' AND ${whereIn(lane)} AND (leased_until IS NULL OR leased_until <= greatest(now(), due_at))`,
  ),
);

export const nextStepInSeconds = async ({ db }: { db: Queryable }, lane: Lane) =>
  (await db.query<{ seconds: number | null }>(nextDue[lane]))[0]?.seconds ?? null;

// A provision needs a step of its own once it outlasts its request: its process died before it was answered, or its
// first try goes on or failed. It is leased for as long as the process that stored it may be at work; if that time is
// over, until that process, which may have been cut off from the database, has noticed. To be sent in a transaction that
// has locked the resource.
const writeProvision = statement(
  "write_provision_step",
  `INSERT INTO steps (uuid, key, kind, due_at, attempts, lease, leased_until, created_at, request_id, traceparent)
   SELECT r.uuid, r.uuid, 'provision', now(), 1, 1, greatest(r.created_at + ${LEASE}, ${NOTICED}), r.created_at,
     c.request_id, c.traceparent
   FROM resources r JOIN credentials c USING (uuid) WHERE r.uuid = $1 AND ${whereCan("done")} AND NOT EXISTS (
     SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind IN ('provision', 'finish', 'announce', 'report_failure') AND NOT ${whereOfPlanChange("s")})`,
);

export const writeProvisionStep = (tx: Queryable, uuid: string) => tx.query(writeProvision, [uuid]);

/**
 * SQL: provisions that are not answered and have no step: `uuid`, `created_at`. Such a grant has no due time, so the queue
 * of grants holds them at its end.
 */
export const UNANSWERED = `SELECT c.uuid, r.created_at FROM credentials c JOIN resources r ON r.uuid = c.uuid
   WHERE c.state = 'grant_pending' AND c.due_at IS NULL AND r.answer_status IS NULL AND ${whereCan("done")}
     AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = c.uuid AND s.kind = 'provision')`;
const findUnanswered = statement(
  "find_unanswered",
  `${UNANSWERED} AND r.created_at < now() - ${LEASE} LIMIT 1000`,
);

export const findUnansweredProvisions = (db: Queryable) => db.query<{ uuid: string }>(findUnanswered);

// The statement that stores tokens wakes the steps that wait for them; this finds steps that were missed. Some wait for
// ever, for a grant that never comes, and may be many. The `finish` of a plan change whose grant was lost meanwhile
// runs without tokens, as it does if the grant was lost before: it holds up every change behind it. A put-off provision
// whose grant was lost is failed by the job fail-stranded.
const wake = statement(
  "wake_steps",
  `UPDATE steps SET due_at = now() WHERE due_at IS NULL AND id = ANY(ARRAY(
     SELECT s.id FROM steps s JOIN credentials c USING (uuid) JOIN resources r USING (uuid)
     WHERE s.due_at IS NULL AND (c.state IN (${HAS_TOKENS})
       OR (s.kind = 'finish' AND c.state <> 'grant_pending' AND r.state = 'provisioned')) LIMIT 10000
     FOR UPDATE OF s SKIP LOCKED)) RETURNING id`,
);

export const wakeSteps = async (db: Database) => (await db.planned((tx) => tx.query(wake))).length;

// The platform gives an asynchronous provision up after 12 hours; we decide after 11 (assumed, section 2). A provision
// that was never answered is not asynchronous: its step decides it. A plan change behind it is not the provision, and
// has its own step. `leased_until` stays: the report waits until work that still runs has noticed. What came back with a
// backup may have been completed since, and lives: an operator decides.
const expiring = (which: string, skip = "") =>
  `UPDATE steps SET kind = 'report_failure', due_at = now(), attempts = 0, lease = lease + 1, detail = detail - ${UNSAID}
   WHERE id = ANY(ARRAY(SELECT s.id FROM steps s JOIN resources r USING (uuid)
     WHERE ${whereCan("given_up")} AND s.kind IN ('provision', 'finish', 'announce')
       AND r.answer_status IS NOT NULL AND NOT ${whereOfPlanChange("s")} AND ${which} FOR UPDATE OF s ${skip})) RETURNING uuid`;
const expire = statement(
  "expire_steps",
  expiring(
    `s.created_at < now() - ${GIVEN_UP_AFTER} AND NOT ${whereBroughtBack("r.created_at")}`,
    "SKIP LOCKED",
  ),
);
const expireOne = statement("expire_step", expiring(`s.uuid = $1 AND s.kind <> 'announce'`));

export const expireSteps = (db: Queryable) => db.query<{ uuid: string }>(expire);

/** The same for one provision that the vendor's service has not made, however long it took. */
export const expireProvision = (tx: Queryable, uuid: string) => tx.query(expireOne, [uuid]);

const openSteps = statement(
  "open_steps",
  `SELECT key, detail->>'plan' AS plan, detail ? 'isAccepted' AS "isAccepted", lease FROM steps
   WHERE uuid = $1 AND NOT ${whereBeside("steps")} ORDER BY id`,
);

/** The steps that a plan change waits for. `plan`: the new one, of a plan change. */
export const openStepsOf = (tx: Queryable, uuid: string) =>
  tx.query<{ key: string; plan: string | null; isAccepted: boolean; lease: number }>(openSteps, [uuid]);

/** A requested plan change, with the idempotency key of its step. */
export type PlanChange = Pick<Step, "key" | "requestId" | "traceparent"> & { uuid: string; plan: string };

// The lease number of one that is queued ($6) is 0, so that a request which tries again, and does not know whether it
// began or queued, does not take a step that another process has claimed.
const planChange = statement(
  "write_plan_change",
  `WITH step AS (
     INSERT INTO steps (uuid, key, kind, detail, due_at, attempts, lease, leased_until, request_id, traceparent)
     SELECT $1::uuid, $3::uuid, 'change_plan',
       jsonb_build_object('plan', $2::text) || CASE WHEN $6 THEN '{"isAccepted": true}' ELSE '{}' END::jsonb,
       now(), CASE WHEN $6 THEN 0 ELSE 1 END, CASE WHEN $6 THEN 0 ELSE ${FIRST_LEASE} END,
       CASE WHEN NOT $6 THEN now() + ${LEASE} END, $4::text, $5::text
   )
   INSERT INTO events (uuid, type, detail)
   SELECT $1, 'plan_change_queued', jsonb_build_object('plan', $2::text) WHERE $6::bool`,
);

/** Writes the step of a plan change: claimed by this process, or, accepted, behind what is under way. */
export const writeChange = (
  tx: Queryable,
  { uuid, plan, key, requestId, traceparent }: PlanChange,
  as: "claimed" | "queued",
) => tx.query(planChange, [uuid, plan, key, requestId, traceparent, as === "queued"]);

const accept = statement(
  "accept_plan",
  `UPDATE steps SET detail = detail || '{"isAccepted": true}' WHERE uuid = $1 AND key = $2 AND kind IN ('change_plan', 'finish') RETURNING id`,
);

/** Accepts a change that is still to be made. False: its step has ended. */
export const acceptChange = async (db: Queryable, uuid: string, key: string): Promise<boolean> =>
  (await db.query(accept, [uuid, key])).length > 0;

/** How many changes of one resource to the plan it already has raise no alarm within an hour. */
export const MOST_UNCHANGED_CALLS = 3;

// Returns how often the same change was requested within the last hour, counted up to one more than raises the alarm.
// Only that many events are written, however long the platform repeats itself.
const unchanged = statement(
  "note_unchanged",
  `WITH earlier AS (
     SELECT 1 FROM events WHERE uuid = $1 AND type = 'plan_unchanged' AND at > now() - interval '1 hour'
     ORDER BY id DESC LIMIT ${MOST_UNCHANGED_CALLS + 1}
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT $1, 'plan_unchanged' WHERE (SELECT count(*) FROM earlier) <= ${MOST_UNCHANGED_CALLS}
   )
   SELECT count(*)::int AS earlier FROM earlier`,
);

export const noteUnchanged = async (tx: Queryable, uuid: string) =>
  (await tx.query<{ earlier: number }>(unchanged, [uuid]))[0]!.earlier;
