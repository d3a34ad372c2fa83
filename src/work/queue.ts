import type { Step as StepModel } from "../database/client/client.ts";
import {
  anyRow,
  type ColumnList,
  columnsOf,
  oneRow,
  type Queryable,
  type RowOf,
  type Statement,
  statement,
} from "../database/statement.ts";
import { firstOf, hold, isFree, type NextDue, nextDue, take } from "./lease.ts";
import type { Claim } from "./step.ts";

// The queue of steps: claim, extend the lease, put off, end, next due time. What a step does is defined by its kind.

/** How long the lease of a claimed step lasts. */
export const STEP_LEASE_SECONDS = 30;
/** The most steps of one lane that one process runs at once. */
export const CONCURRENCY = 16;
/** An alarm is raised after this many failed attempts, and after every further as many. */
export const ALARM_AFTER_ATTEMPTS = 12;
/** How long the vendor's service may answer "later". Then a provision is given up; any other step raises an alarm. */
export const GIVEN_UP_AFTER = "interval '11 hours'";

/** The columns of a step, of the table aliased `s`. */
export const STEP_COLUMNS = columnsOf<StepModel>()(
  "s",
  "uuid",
  "key",
  "kind",
  "detail",
  "attempts",
  "lease",
  "requestId",
  "traceparent",
);
export type StepRow = RowOf<typeof STEP_COLUMNS>;

/** SQL condition on the step aliased `s`: the step is the claimed one, and its lease was not taken since. */
export const IS_CLAIMED = `s.uuid = :uuid AND s.key = :key AND s.lease = :lease` as const;

/** SQL condition on a step: the vendor's service has answered "later" for longer than `GIVEN_UP_AFTER`. */
export const IS_LATE = `(detail->>'saidSince')::timestamptz < now() - ${GIVEN_UP_AFTER}`;
/** SQL: the members of `detail` about the vendor's answers "later". They are dropped when the step's kind changes. */
export const LATER_MEMBERS = `'{said,saidSince,isLate,isOfPlatform}'::text[]`;
/** SQL condition on a step: its last call failed, and the platform was not the cause. */
export const HAS_FAILED = `(last_error IS NOT NULL AND NOT detail ? 'isOfPlatform')`;

/** A lane of the queue: kinds of steps that are claimed together. Each lane has its own limit of concurrent steps. */
export interface Lane<Row> {
  claim: Statement<{ most: number }, StepRow & Row>;
  next: Statement<Record<never, never>, NextDue>;
}

/**
 * Defines a lane. `isIn`: SQL condition on a step, the same as that of the lane's partial index, so that a claim never
 * reads steps of another lane. `mayBegin`: SQL condition on a step aliased `due`. `about`: the table that the steps
 * concern; a claim returns its row with each step.
 */
export function laneOf<Row>(
  name: string,
  { isIn, mayBegin, about }: { isIn: string; mayBegin: string; about: About<Row> },
): Lane<Row> {
  const due = firstOf({
    key: "id",
    table: "steps",
    where: `due.due_at <= now() AND due.${isIn} AND ${isFree("due")} AND ${mayBegin}`,
    order: "due_at",
    atMost: CONCURRENCY,
  });
  return {
    claim: statement<{ most: number }, StepRow & Row>(`claim_${name}_steps`).sql(
      `UPDATE steps s SET ${take("s", STEP_LEASE_SECONDS)}, attempts = s.attempts + 1,
         -- While the step is claimed, due_at is when its call began. A step that waited for hours is not taken for hung.
         due_at = now()
       FROM ${about.table} WHERE ${about.on} AND s.id = ANY(${due})
       RETURNING ${STEP_COLUMNS}, ${about.columns}`,
    ),
    next: statement<Record<never, never>, NextDue>(`next_${name}_step_due`).sql(
      // A step may wait for the end of an aborted call: it can be claimed when the lease of that call ends.
      nextDue("steps", `${isIn} AND (leased_until IS NULL OR leased_until <= greatest(now(), due_at))`),
    ),
  };
}

/** A table that is joined with `steps s`. */
export interface About<Row> {
  table: string;
  on: string;
  columns: ColumnList<Row>;
}

/** Claims at most `most` steps of a lane, in the order in which they fell due. */
export async function claimSteps<Row>(db: Queryable, lane: Lane<Row>, most: number) {
  const claimedAtMs = Date.now();
  return (await db.query(lane.claim, { most })).map((row) => ({ ...row, claimedAtMs }));
}

const extend = statement<Claim>("hold_step").sql(
  `UPDATE steps s SET ${hold(STEP_LEASE_SECONDS)}
   -- A step that was put off and not claimed again has no lease.
   WHERE ${IS_CLAIMED} AND s.leased_until IS NOT NULL RETURNING id`,
);

/** Extends the lease. Returns `false` if another process has taken the step or the step was deleted. */
export const holdStep = (db: Queryable, step: Claim) => anyRow(db, extend, step);

const DUE_SINCE = `jsonb_build_object('dueSince', s.due_at)`;
type PutOff = Claim & { kind: string; seconds: number; said: string | null; error: string | null } & {
  isOfPlatform: boolean;
};
const putOff = statement<PutOff, { isLate: boolean | null }>("put_off_step").sql(
  `UPDATE steps s SET due_at = now() + make_interval(secs => :seconds), leased_until = NULL,
     last_error = CASE WHEN :said::text IS NULL THEN coalesce(:error, s.last_error) END,
     attempts = CASE
       -- The vendor's service answered "later", which is not a failure.
       WHEN :said IS NOT NULL THEN 0
       -- The call was aborted, which does not count as an attempt.
       WHEN :error::text IS NULL THEN s.attempts - 1
       ELSE s.attempts END,
     detail = (
       -- dueSince is when the step fell due before its first failure.
       CASE WHEN s.last_error IS NULL THEN s.detail || ${DUE_SINCE} ELSE ${DUE_SINCE} || s.detail END)
       - CASE WHEN coalesce(:error, :said) IS NULL THEN '' ELSE 'isOfPlatform' END::text
       || CASE WHEN :isOfPlatform THEN '{"isOfPlatform": true}' ELSE '{}' END::jsonb
       || CASE WHEN :said IS NULL THEN '{}'
          ELSE jsonb_build_object('said', :said, 'saidSince', coalesce(s.detail->>'saidSince', now()::text)) END
       || CASE WHEN ${IS_LATE} THEN '{"isLate": true}' ELSE '{}' END::jsonb
   -- The kind differs if the step's result is stored already: that commit's acknowledgement may have been lost.
   WHERE ${IS_CLAIMED} AND s.kind = :kind
   RETURNING ${IS_LATE} AS "isLate"`,
);

/**
 * Puts a step off by `seconds`. `error`: why the step failed. `isOfPlatform`: a call to the platform failed. `said`: the
 * sentence of the vendor's answer "later". Without `error` and `said` the call was aborted. Returns `null` if another
 * process has taken the step or its result is stored already. `isLate`: the answer has been "later" for 11 hours.
 */
export function putOffStep(
  db: Queryable,
  step: Claim & { kind: string },
  seconds: number,
  { error, said, isOfPlatform = false }: { error?: string; said?: string; isOfPlatform?: boolean },
): Promise<{ isLate: boolean | null } | null> {
  const { uuid, key, lease, kind } = step;
  const what = { error: error ?? null, said: said ?? null, isOfPlatform };
  return oneRow(db, putOff, { uuid, key, lease, kind, seconds, ...what });
}

const finish = statement<Claim>("finish_step").sql(`DELETE FROM steps s WHERE ${IS_CLAIMED}`);

export const endStep = (db: Queryable, step: Claim) => db.query(finish, step);

/** Seconds until the next step of a lane falls due; `null` if no step has a due time. */
export const nextStepInSeconds = async (db: Queryable, lane: Lane<unknown>) =>
  (await oneRow(db, lane.next))?.seconds ?? null;
