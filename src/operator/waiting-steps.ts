import { statement, type Queryable } from "../database/database.ts";
import { ALARM_AFTER_ATTEMPTS } from "../work/put-off.ts";

/** A put-off step of a resource that is not done yet. */
export interface WaitingStep {
  kind: string;
  /** How often it was tried; counted anew each time the vendor's service answers "later". */
  tries: number;
  /** Why the last try failed, without secrets; null if it did not fail. */
  lastError: string | null;
  /** What the vendor's service said about unfinished work; null if it said nothing yet, or if the last try failed. */
  said: string | null;
  /**
   * ISO 8601, UTC. Null: the step waits until there is a working token; the last step of a plan change also goes on
   * once no token can come any more.
   */
  nextTryAt: string | null;
  isUnderWay: boolean;
}

/** The steps that keep failing or take too long, among those that are looked at. */
export interface FailingSteps {
  count: number;
  kinds: string[];
  /** Whether one of them has raised its alarm. */
  isAlarm: boolean;
  /** Resources that have one, those with the most tries first. */
  someUuids: string[];
}

/** Reached within about twenty seconds; a short outage of any platform causes fewer. */
const SEVERAL_TRIES = 5;
/** A phrase for what is wrong with these steps, to follow their count. */
export const FAILING = `failed ${SEVERAL_TRIES} times or more, or still went on after 11 hours`;
const MOST_NAMED = 3;

const ofResource = statement(
  "waiting_steps",
  `SELECT kind, attempts AS tries, last_error AS "lastError", due_at AS "nextTryAt",
     CASE WHEN kind IN ('finish', 'clean_up') AND last_error IS NULL THEN detail->>'said' END AS said,
     coalesce(leased_until > now(), false) AS "isUnderWay"
   FROM steps WHERE uuid = $1 ORDER BY id`,
);

// The more often a step has failed, the later it is due; a step that the vendor's service said is still going on is
// mostly due late as well. So a bounded part, read from that end of the index, holds the steps to be found, however
// many wait for their first try.
const failing = statement(
  "failing_steps",
  `SELECT uuid, kind, attempts >= ${ALARM_AFTER_ATTEMPTS} OR "isLate" AS "isAlarm"
   FROM (SELECT uuid, kind, attempts, last_error, detail ? 'isLate' AND kind IN ('finish', 'clean_up') AS "isLate" FROM steps WHERE due_at IS NOT NULL ORDER BY due_at DESC LIMIT 10000) latest
   WHERE (attempts >= ${SEVERAL_TRIES} AND last_error IS NOT NULL) OR "isLate" ORDER BY attempts DESC, uuid`,
);

/** The waiting steps of a resource, in the order in which they are carried out. */
export async function waitingSteps(db: Queryable, uuid: string): Promise<WaitingStep[]> {
  const rows = await db.query<Omit<WaitingStep, "nextTryAt"> & { nextTryAt: Date | null }>(ofResource, [
    uuid,
  ]);
  return rows.map((row) => ({ ...row, nextTryAt: row.nextTryAt?.toISOString() ?? null }));
}

/** The steps of all resources that keep failing or take too long. */
export async function failingSteps(db: Queryable): Promise<FailingSteps> {
  const rows = await db.query<{ uuid: string; kind: string; isAlarm: boolean }>(failing, []);
  return {
    count: rows.length,
    kinds: [...new Set(rows.map(({ kind }) => kind))].sort(),
    isAlarm: rows.some(({ isAlarm }) => isAlarm),
    someUuids: [...new Set(rows.map(({ uuid }) => uuid))].slice(0, MOST_NAMED),
  };
}
