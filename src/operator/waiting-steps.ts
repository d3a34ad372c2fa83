import { statement, type Queryable } from "../database/database.ts";
import { ALARM_AFTER_ATTEMPTS } from "../resources/steps/runner.ts";

/** Work for a resource that was put off, and is not done yet. */
export interface WaitingStep {
  kind: string;
  /** How often it was begun. */
  tries: number;
  /** Why the last try failed, with no secret in it; null: none has. */
  lastError: string | null;
  /** What the vendor's service said of work that goes on; null: nothing yet, or the last try failed. */
  said: string | null;
  /** ISO 8601, UTC. Null: when there is a working token, or the end of a plan change knows that none will come. */
  nextTryAt: string | null;
  isUnderWay: boolean;
}

/** The steps that fail again and again, or go on for too long, as far as they are looked at. */
export interface FailingSteps {
  count: number;
  kinds: string[];
  /** One of them has raised its alarm. */
  isAlarm: boolean;
  /** Resources that have one, those with the most tries first. */
  someUuids: string[];
}

/** Within about twenty seconds: less is what any platform's short trouble costs. */
const SEVERAL_TRIES = 5;
/** What is wrong with them, after their number. */
export const FAILING = `failed ${SEVERAL_TRIES} times or more, or still went on after 11 hours`;
const MOST_NAMED = 3;

const ofResource = statement(
  "waiting_steps",
  `SELECT kind, attempts AS tries, last_error AS "lastError", due_at AS "nextTryAt",
     CASE WHEN kind IN ('finish', 'clean_up') AND last_error IS NULL THEN detail->>'said' END AS said,
     coalesce(leased_until > now(), false) AS "isUnderWay"
   FROM steps WHERE uuid = $1 ORDER BY id`,
);

// The more often a step has failed, the later it is due, and mostly so is what goes on by the service's own word. From that
// end of the index on, a bounded part holds those that are looked for, however many wait for their first try.
const failing = statement(
  "failing_steps",
  `SELECT uuid, kind, attempts >= ${ALARM_AFTER_ATTEMPTS} OR "isLate" AS "isAlarm"
   FROM (SELECT uuid, kind, attempts, last_error, detail ? 'isLate' AND kind IN ('finish', 'clean_up') AS "isLate" FROM steps WHERE due_at IS NOT NULL ORDER BY due_at DESC LIMIT 10000) latest
   WHERE (attempts >= ${SEVERAL_TRIES} AND last_error IS NOT NULL) OR "isLate" ORDER BY attempts DESC, uuid`,
);

/** What is still to be done for a resource, in its order. */
export async function waitingSteps(db: Queryable, uuid: string): Promise<WaitingStep[]> {
  const rows = await db.query<Omit<WaitingStep, "nextTryAt"> & { nextTryAt: Date | null }>(ofResource, [
    uuid,
  ]);
  return rows.map((row) => ({ ...row, nextTryAt: row.nextTryAt?.toISOString() ?? null }));
}

/** What fails again and again, or goes on for too long, of all resources. */
export async function failingSteps(db: Queryable): Promise<FailingSteps> {
  const rows = await db.query<{ uuid: string; kind: string; isAlarm: boolean }>(failing, []);
  return {
    count: rows.length,
    kinds: [...new Set(rows.map(({ kind }) => kind))].sort(),
    isAlarm: rows.some(({ isAlarm }) => isAlarm),
    someUuids: [...new Set(rows.map(({ uuid }) => uuid))].slice(0, MOST_NAMED),
  };
}
