import { statement, type Queryable } from "../database/database.ts";
import { RESOURCE_COLUMNS, type ResourceRow } from "../resources/rows.ts";
import { createLateSteps, GIVEN_UP_AFTER } from "./late-steps.ts";
import { eachLane, isIn, type Lane, type Step } from "./step.ts";

// Steps are claimed like credentials: one statement, a lease, the database's clock. Two steps of one resource that
// change it never run at the same time or out of order. Discovering its app and announcing its config vars, as they are
// by then, wait for no other step and hold none up; a clean-up has nothing left to wait for.

/** Steps of each lane under way at once in one process. */
export const CONCURRENCY = 16;
/** A running step's lease, from its first moment; extended every third of this while its process lives. */
export const STEP_LEASE_SECONDS = 30;

const TAKE = `
  UPDATE steps s SET lease = s.lease + 1, attempts = s.attempts + 1,
    leased_until = now() + interval '${STEP_LEASE_SECONDS} seconds'
  FROM resources r`;

const TAKEN = `
  RETURNING s.id, s.key, s.kind, s.detail, s.attempts, s.lease, s.request_id AS "requestId", ${RESOURCE_COLUMNS}`;

/** SQL condition: no earlier step of its resource holds up the step aliased `step`. */
export function isNext(step: string): string {
  return `(${step}.kind IN ('discover', 'announce', 'clean_up') OR NOT EXISTS (
        SELECT 1 FROM steps earlier WHERE earlier.uuid = ${step}.uuid AND earlier.id < ${step}.id AND earlier.kind NOT IN ('discover', 'announce')))`;
}

// Each lane has an index of what is due in it, and of nothing else, so that a claim never reads past the other lane's
// steps, however many those are. The inner limit tells the planner, which does not see $1, that few rows are wanted; no
// more rows are locked than the outer limit asks for.
const claimDue = eachLane((lane) =>
  statement(
    `claim_${lane}_steps`,
    `${TAKE} WHERE r.uuid = s.uuid AND s.id = ANY(ARRAY(SELECT id FROM (
    SELECT due.id FROM steps due
    WHERE due.due_at <= now() AND due.${isIn(lane)} AND (due.leased_until IS NULL OR due.leased_until <= now())
      AND ${isNext("due")}
    ORDER BY due.due_at LIMIT ${CONCURRENCY} FOR UPDATE SKIP LOCKED) few LIMIT $1)) ${TAKEN}`,
  ),
);

const hold = statement(
  "hold_step",
  `UPDATE steps SET leased_until = now() + interval '${STEP_LEASE_SECONDS} seconds' WHERE id = $1 AND lease = $2 RETURNING id`,
);

// Checks the step's kind too: a statement that ended its work may have been committed and only the acknowledgement
// lost. A step that was cut off ($4 null) or waits for its credential ($3 null) has made no try.
const putOff = statement(
  "put_off_step",
  `UPDATE steps SET due_at = now() + make_interval(secs => $3::float8), leased_until = NULL,
     last_error = coalesce($4, last_error), attempts = attempts - CASE WHEN $4::text IS NULL OR $3 IS NULL THEN 1 ELSE 0 END
   WHERE id = $1 AND lease = $2 AND kind = $5 RETURNING id`,
);

// Not a failure, so the attempts are counted anew. `isLate`: the first "later" is longer ago than a provision may take,
// and the alarm for that is still to be raised.
const lookAgain = statement(
  "look_at_step_again",
  `UPDATE steps s SET due_at = now() + make_interval(secs => $3::float8), leased_until = NULL, last_error = NULL, attempts = 0,
     detail = s.detail || jsonb_build_object('said', $4::text, 'saidSince', coalesce(s.detail->>'saidSince', now()::text))
   WHERE id = $1 AND lease = $2
   RETURNING (detail->>'saidSince')::timestamptz < now() - ${GIVEN_UP_AFTER} AND NOT detail ? 'isLate' AS "isLate"`,
);
const markLate = statement(
  "mark_step_late",
  `UPDATE steps SET detail = detail || jsonb_build_object('isLate', true) WHERE id = $1`,
);

const finish = statement("finish_step", `DELETE FROM steps WHERE id = $1 AND lease = $2 RETURNING id`);

const cleanUpAfter = statement(
  "clean_up_after_step",
  `UPDATE steps SET kind = 'clean_up', due_at = now(), attempts = 0, leased_until = NULL, last_error = NULL,
     detail = detail - '{said,saidSince,isLate}'::text[]
   WHERE id = $1 AND lease = $2`,
);

const nextDue = eachLane((lane) =>
  statement(
    `next_${lane}_step_due`,
    `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM steps
   WHERE due_at > now() - interval '1 second' AND ${isIn(lane)} AND (leased_until IS NULL OR leased_until <= now())`,
  ),
);

type StepRow = Omit<Step, "resource"> & ResourceRow;

function toStep({ id, key, kind, detail, attempts, lease, requestId, ...resource }: StepRow): Step {
  return { id, key, kind, detail, attempts, lease, requestId, resource };
}

export function createStepQueue(db: Queryable) {
  return {
    ...createLateSteps(db),
    claim: async (lane: Lane, most: number) => (await db.query<StepRow>(claimDue[lane], [most])).map(toStep),
    /** Extends the lease. False: the step is not ours any more, or no longer wanted. */
    hold: async ({ id, lease }: Step) => (await db.query(hold, [id, lease])).length > 0,
    /**
     * Puts the step off. `seconds` null: until the credential is active. `error` null: the step was cut off and has not
     * failed. False: the step is not ours any more, or its end is stored already.
     */
    putOff: async ({ id, lease, kind }: Step, seconds: number | null, error: string | null) =>
      (await db.query(putOff, [id, lease, seconds, error, kind])).length > 0,
    /**
     * Puts off a step that is not done and has not failed. True: it has gone on for 11 hours, and no alarm was raised
     * yet.
     */
    async lookAgain({ id, lease }: Step, seconds: number, said: string): Promise<boolean> {
      const [row] = await db.query<{ isLate: boolean }>(lookAgain, [id, lease, seconds, said]);
      return row?.isLate ?? false;
    },
    /** Records that the alarm was raised. */
    markLate: async ({ id }: Step) => void (await db.query(markLate, [id])),
    finish: async ({ id, lease }: Step) => (await db.query(finish, [id, lease])).length > 0,
    /** Turns a step that is not wanted any more into the clean-up of what it may have made. */
    cleanUpAfter: async ({ id, lease }: Step) => void (await db.query(cleanUpAfter, [id, lease])),
    /** Seconds until the next step of a lane falls due; null: none is waiting. */
    nextInSeconds: async (lane: Lane) =>
      (await db.query<{ seconds: number | null }>(nextDue[lane], []))[0]?.seconds ?? null,
  };
}

export type StepQueue = ReturnType<typeof createStepQueue>;
