import type { YourJob as JobModel } from "../database/client/client.ts";
import { anyRow, oneRow, type Queryable, statement, type Stored } from "../database/statement.ts";
import { hold as held, isFree, type NextDue, take } from "../work/lease.ts";

// All times of the jobs are the database's.
const plan = statement<{ name: string; at: string; due: Date }>("plan_your_job").sql(
  `INSERT INTO your_jobs (name, cron, due_at) VALUES (:name, :at, :due)
   -- A job is planned again if its cron expression was changed.
   ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, due_at = excluded.due_at WHERE your_jobs.cron <> excluded.cron`,
);

export const planJob = (db: Queryable, name: string, at: string, due: Date) =>
  db.query(plan, { name, at, due });

export interface ClaimedJob {
  name: string;
  lease: number;
  /** The number of failed runs since the last successful run. */
  attempts: number;
  /** The process of the previous run died. That run is counted in `attempts`. */
  hasDied: boolean;
  trouble: JobTrouble | null;
  /** By the database's clock. */
  now: Date;
}

/** The trouble of a job whose last run has not succeeded. */
export interface JobTrouble {
  error: string;
  /** The start of the first run since the last success. */
  since: Date;
  /** The next regular time after `since`, by which a run should have succeeded; `null` if not computed yet. */
  overdueAt: Date | null;
  alarmedAt: Date | null;
}

const LEASE_SECONDS = 60;
// A run whose process died counts as failed and is repeated after the same pause, because the job may have caused the death.
const IS_FREE = isFree("your_jobs", "make_interval(mins => (2 ^ least(your_jobs.attempts, 6))::int - 1)");
const DIED = "The process ended before the job had ended.";
type ClaimedRow = Omit<ClaimedJob, "trouble"> & Omit<JobTrouble, "error"> & { error: string | null };
const claim = statement<{ names: readonly string[] }, ClaimedRow>("claim_your_jobs").sql(
  `WITH free AS (
     SELECT name, leased_until IS NOT NULL AS died, last_error IS NOT NULL AS failed, coalesce(started_at, now()) AS began FROM your_jobs
     WHERE name = ANY(:names::text[]) AND due_at <= now() AND ${IS_FREE} ORDER BY name FOR UPDATE
   ), claimed AS (
     UPDATE your_jobs j SET ${take("j", LEASE_SECONDS)}, started_at = now(),
       attempts = attempts + died::int, last_error = CASE WHEN died THEN '${DIED}' ELSE last_error END,
       failing_since = CASE WHEN failed THEN coalesce(failing_since, began) WHEN died THEN began END,
       overdue_at = CASE WHEN failed THEN overdue_at END, alarmed_at = CASE WHEN failed THEN alarmed_at END
     FROM free WHERE j.name = free.name RETURNING j.*, died
   )
   SELECT name, lease, attempts, died AS "hasDied", now() AS now, last_error AS error, failing_since AS since,
     overdue_at AS "overdueAt", alarmed_at AS "alarmedAt" FROM claimed`,
);

export async function claimJobs(db: Queryable, names: readonly string[]): Promise<ClaimedJob[]> {
  const rows = await db.query(claim, { names });
  return rows.map(({ error, since, overdueAt, alarmedAt, ...claimed }) => ({
    ...claimed,
    trouble: error === null ? null : { error, since, overdueAt, alarmedAt },
  }));
}

type JobClaim = Pick<ClaimedJob, "name" | "lease">;
const hold = statement<JobClaim, { name: string }>("hold_your_job").sql(
  `UPDATE your_jobs SET ${held(LEASE_SECONDS)}
   WHERE name = :name AND lease = :lease AND leased_until IS NOT NULL RETURNING name`,
);

/** Extends the lease. Returns `false` if another process has taken the job. */
export const holdJob = (db: Queryable, job: JobClaim) => anyRow(db, hold, job);

/** The columns of a {@link JobTrouble}. */
type StoredTrouble = Pick<Stored<JobModel>, "lastError" | "failingSince" | "overdueAt" | "alarmedAt">;

const end = statement<JobClaim & StoredTrouble & { due: Date; attempts: number }>("end_your_job").sql(
  `UPDATE your_jobs SET leased_until = NULL, ended_at = now(), due_at = :due, attempts = :attempts, last_error = :lastError,
     failing_since = :failingSince, overdue_at = :overdueAt, alarmed_at = :alarmedAt
   WHERE name = :name AND lease = :lease`,
);

export type RunEnd = { due: Date; attempts: number; trouble: JobTrouble | null };

export const endJob = (db: Queryable, { name, lease }: JobClaim, { due, attempts, trouble }: RunEnd) =>
  db.query(end, { name, lease, due, attempts, ...stored(trouble) });

const note = statement<JobClaim & StoredTrouble>("note_trouble_of_your_job").sql(
  `UPDATE your_jobs SET last_error = :lastError, failing_since = :failingSince, overdue_at = :overdueAt, alarmed_at = :alarmedAt
   WHERE name = :name AND lease = :lease`,
);

/** Stores the trouble of the previous run at the start of the next one. */
export const noteTrouble = (db: Queryable, { name, lease }: JobClaim, trouble: JobTrouble) =>
  db.query(note, { name, lease, ...stored(trouble) });

function stored(trouble: JobTrouble | null): StoredTrouble {
  const { error = null, since = null, overdueAt = null, alarmedAt = null } = trouble ?? {};
  return { lastError: error, failingSince: since, overdueAt, alarmedAt };
}

const next = statement<{ names: readonly string[] }, NextDue>("next_of_your_jobs").sql(
  `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM your_jobs
   WHERE name = ANY(:names::text[]) AND ${IS_FREE}`,
);

export const nextJobInSeconds = async (db: Queryable, names: readonly string[]) =>
  (await oneRow(db, next, { names }))?.seconds ?? null;
