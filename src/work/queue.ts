import type { Step as StepModel } from "../database/client/client.ts";
import { anyRow, oneRow, type Queryable, type Statement } from "../database/database.ts";
import { columnsOf, statement, type ColumnList, type RowOf } from "../database/statement.ts";
import { firstOf, hold, isFree, nextDue, take, type NextDue } from "./lease.ts";
import type { Claim } from "./step.ts";

// The queue of steps: claim, hold, put off, end, next due. What a step does, and what it concerns, is its kind's business.

/** How long a claim of a step holds. */
export const STEP_LEASE_SECONDS = 30;
/** Steps of each lane under way at once in one process. */
export const CONCURRENCY = 16;
/** After so many failed attempts an alarm is raised, and each time after as many more. */
export const ALARM_AFTER_ATTEMPTS = 12;
/** For so long a provision may be answered "later"; for any other step that goes on for longer, an alarm is raised. */
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

/** SQL condition on the step aliased `s`: it is the one that was claimed. */
export const IS_OURS = `s.uuid = :uuid AND s.key = :key AND s.lease = :lease` as const;

/** SQL condition on a step: the vendor's service has answered "later" for so long. */
export const IS_LATE = `(detail->>'saidSince')::timestamptz < now() - ${GIVEN_UP_AFTER}`;
/** SQL: the members of `detail` that say what the vendor's service answered; they end with the step's kind. */
export const UNSAID = `'{said,saidSince,isLate,isOfPlatform}'::text[]`;
/** SQL condition on a step: its last call failed, and not by an answer of the platform. */
export const HAS_FAILED = `(last_error IS NOT NULL AND NOT detail ? 'isOfPlatform')`;

/** A lane of the queue: kinds of steps that are claimed together, and have places of their own. */
export interface Lane<Row> {
  claim: Statement<{ most: number }, StepRow & Row>;
  next: Statement<Record<never, never>, NextDue>;
}

/**
 * A lane. `isIn`: SQL condition on a step, the one of the lane's partial index: a claim never reads past the steps of
 * another lane, however many those are. `mayBegin`: SQL condition on a step aliased `due`. `about`: what the steps
 * concern, which a claim returns with each.
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
         -- From now on, when the call began: a step that waited for its turn for hours does not hang.
         due_at = now()
       FROM ${about.table} WHERE ${about.on} AND s.id = ANY(${due})
       RETURNING ${STEP_COLUMNS}, ${about.columns}`,
    ),
    next: statement<Record<never, never>, NextDue>(`next_${name}_step_due`).sql(
      // A step that waits until a call that was cut off has noticed is due at the end of that lease.
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

/** Claims at most so many steps of a lane, in the order in which they fell due. */
export async function claimSteps<Row>(db: Queryable, lane: Lane<Row>, most: number) {
  const claimedAtMs = Date.now();
  return (await db.query(lane.claim, { most })).map((row) => ({ ...row, claimedAtMs }));
}

const extend = statement<Claim>("hold_step").sql(
  `UPDATE steps s SET ${hold(STEP_LEASE_SECONDS)}
   -- A step that was put off, and not claimed again, has no lease to extend.
   WHERE ${IS_OURS} AND s.leased_until IS NOT NULL RETURNING id`,
);

/** Extends the lease. False: the step is not ours any more, or no longer wanted. */
export const holdStep = (db: Queryable, step: Claim) => anyRow(db, extend, step);

const DUE_SINCE = `jsonb_build_object('dueSince', s.due_at)`;
type PutOff = Claim & { kind: string; seconds: number; said: string | null; error: string | null } & {
  isOfPlatform: boolean;
};
const putOff = statement<PutOff, { isLate: boolean | null }>("put_off_step").sql(
  `UPDATE steps s SET due_at = now() + make_interval(secs => :seconds), leased_until = NULL,
     last_error = CASE WHEN :said::text IS NULL THEN coalesce(:error, s.last_error) END,
     attempts = CASE
       -- It answered "later", which is no failure.
       WHEN :said IS NOT NULL THEN 0
       -- It was cut off, which is no try.
       WHEN :error::text IS NULL THEN s.attempts - 1
       ELSE s.attempts END,
     detail = (
       -- When it first fell due, of a step that fails again and again.
       CASE WHEN s.last_error IS NULL THEN s.detail || ${DUE_SINCE} ELSE ${DUE_SINCE} || s.detail END)
       - CASE WHEN coalesce(:error, :said) IS NULL THEN '' ELSE 'isOfPlatform' END::text
       || CASE WHEN :isOfPlatform THEN '{"isOfPlatform": true}' ELSE '{}' END::jsonb
       || CASE WHEN :said IS NULL THEN '{}'
          ELSE jsonb_build_object('said', :said, 'saidSince', coalesce(s.detail->>'saidSince', now()::text)) END
       || CASE WHEN ${IS_LATE} THEN '{"isLate": true}' ELSE '{}' END::jsonb
   -- The kind is compared, too: a statement that ended its work may have been committed and its acknowledgement lost.
   WHERE ${IS_OURS} AND s.kind = :kind
   RETURNING ${IS_LATE} AS "isLate"`,
);

/**
 * Puts a step off by so many `seconds`. `error`: why it failed, `isOfPlatform`: by a call to the platform; `said`: what
 * the vendor's function answered in place of a result; without both it was cut off. Null: the step is not ours any more,
 * or its end is stored. `isLate`: it has gone on for 11 hours.
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

const finish = statement<Claim>("finish_step").sql(`DELETE FROM steps s WHERE ${IS_OURS}`);

export const endStep = (db: Queryable, step: Claim) => db.query(finish, step);

/** Seconds until the next step of a lane falls due; null: none is waiting. */
export const nextStepInSeconds = async (db: Queryable, lane: Lane<unknown>) =>
  (await oneRow(db, lane.next))?.seconds ?? null;
