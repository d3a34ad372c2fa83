import type { YourJob as JobModel, YourJobRun as RunModel } from "../database/client/client.ts";
import {
  anyRow,
  columnsOf,
  oneRow,
  type Queryable,
  type RowOf,
  statement,
  type Stored,
} from "../database/statement.ts";
import { hold as held, isFree, type NextDue, take } from "../work/lease.ts";

// The jobs of your service, when each is due, and their last runs. All times are the database's.

type Plan = { name: string; at: string; timeZone: string; due: Date };
const plan = statement<Plan>("plan_your_job").sql(
  `INSERT INTO your_jobs (name, cron, time_zone, due_at, regular_at) VALUES (:name, :at, :timeZone, :due, :due)
   -- A job is planned again if its cron expression or its time zone was changed. A time that has passed and is not done
   -- stays due, and so does a run that an operator has asked for.
   ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, time_zone = excluded.time_zone,
     due_at = CASE WHEN your_jobs.regular_at <= now() OR your_jobs.asked_by IS NOT NULL THEN your_jobs.due_at ELSE excluded.due_at END,
     regular_at = CASE WHEN your_jobs.regular_at <= now() THEN your_jobs.regular_at ELSE excluded.regular_at END
   WHERE (your_jobs.cron, your_jobs.time_zone) <> (excluded.cron, excluded.time_zone)`,
);

export const planJob = (db: Queryable, job: Plan) => db.query(plan, job);

/** The times by which a job is planned. They differ from those of a process if another release has planned the job since. */
export type StoredTimes = Pick<Plan, "at" | "timeZone">;

const timesOf = statement<Pick<Plan, "name">, StoredTimes>("times_of_your_job").sql(
  `SELECT cron AS at, time_zone AS "timeZone" FROM your_jobs WHERE name = :name`,
);

export const storedTimes = (db: Queryable, name: string) => oneRow(db, timesOf, { name });

export interface ClaimedJob extends StoredTimes {
  name: string;
  lease: number;
  /** The id of this run. */
  runId: number;
  /** When the run fell due. */
  dueAt: Date;
  /** The regular time that the run is for, as it was planned; `null` if the release before planned it. */
  regularAt: Date | null;
  /** The operator who asked for the run; `null`: it is one of the timetable. */
  askedBy: string | null;
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
// An operator does not wait for it.
const IS_FREE = isFree(
  "your_jobs",
  "CASE WHEN your_jobs.asked_by IS NULL THEN make_interval(mins => (2 ^ least(your_jobs.attempts, 6))::int - 1) ELSE '0' END",
);
const DIED = "The process ended, or did not reach the database for a minute, before the job had ended.";
type ClaimedRow = Omit<ClaimedJob, "trouble"> & Omit<JobTrouble, "error"> & { error: string | null };
// A claim that was committed and not acknowledged is sent again with the same id, and returns the runs that it has begun.
const IS_OWN = `r.result = 'running' AND r.claim = :claim` as const;
const claim = statement<Claim, ClaimedRow>("claim_your_jobs").sql(
  `WITH own AS (
     UPDATE your_jobs j SET ${held(LEASE_SECONDS)} FROM your_job_runs r
     -- Another process that has taken the job since has begun a later run.
     WHERE j.name = ANY(:names::text[]) AND r.name = j.name AND ${IS_OWN} AND r.started_at = j.started_at
     RETURNING j.*, EXISTS (SELECT FROM your_job_runs before WHERE before.name = r.name AND before.result = 'died'
         AND before.ended_at = r.started_at) AS died, r.asked_by AS asked, r.id AS run_id
   ), free AS (
     SELECT name, leased_until IS NOT NULL AS died, last_error IS NOT NULL AS failed, coalesce(started_at, now()) AS began,
       due_at, regular_at, coalesce(:by, asked_by) AS asked_by FROM your_jobs
     WHERE name = ANY(:names::text[])
       AND (due_at <= now() AND ${IS_FREE} OR :by::text IS NOT NULL AND ${isFree("your_jobs")})
       AND NOT EXISTS (SELECT FROM your_job_runs r WHERE r.name = your_jobs.name AND ${IS_OWN}) ORDER BY name FOR UPDATE
   ), claimed AS (
     -- A run by hand falls due now: if its process dies, another repeats it.
     UPDATE your_jobs j SET ${take("j", LEASE_SECONDS)}, started_at = now(), asked_by = NULL, due_at = least(j.due_at, now()),
       attempts = attempts + died::int, last_error = CASE WHEN died THEN '${DIED}' ELSE last_error END,
       failing_since = CASE WHEN failed THEN coalesce(failing_since, began) WHEN died THEN began END,
       overdue_at = CASE WHEN failed THEN overdue_at END, alarmed_at = CASE WHEN failed THEN alarmed_at END
     FROM free WHERE j.name = free.name RETURNING j.*, died, free.asked_by AS asked
   ), dead AS (
     UPDATE your_job_runs r SET result = 'died', ended_at = now(), error = '${DIED}'
     FROM free WHERE r.name = free.name AND r.result = 'running'
   ), begun AS (
     INSERT INTO your_job_runs (name, regular_at, asked_by, process, claim)
     -- A run by hand is for a time that has passed; the run's end stores which.
     SELECT name, least(coalesce(regular_at, due_at), now()), asked_by, :process, :claim FROM free RETURNING id, name
   )
   SELECT name, cron AS at, time_zone AS "timeZone", lease, run_id AS "runId", due_at AS "dueAt", regular_at AS "regularAt", asked AS "askedBy", attempts,
     died AS "hasDied", now() AS now, last_error AS error, failing_since AS since,
     overdue_at AS "overdueAt", alarmed_at AS "alarmedAt"
   FROM (SELECT claimed.*, begun.id AS run_id FROM claimed JOIN begun USING (name)
     UNION ALL SELECT * FROM own) taken`,
);

/**
 * `names`: the jobs that the process does not run. `claim`: an id that it chooses, and keeps until the claim is acknowledged.
 * `by`: the operator whose command runs the jobs now, due or not; `null`: those that are due.
 */
interface Claim {
  names: readonly string[];
  process: string;
  claim: string;
  by: string | null;
}

export async function claimJobs(db: Queryable, wanted: Claim): Promise<ClaimedJob[]> {
  const rows = await db.query(claim, wanted);
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
export const holdJob = (db: Queryable, { name, lease }: JobClaim) => anyRow(db, hold, { name, lease });

/** The columns of a {@link JobTrouble}. */
type StoredTrouble = Pick<Stored<JobModel>, "lastError" | "failingSince" | "overdueAt" | "alarmedAt">;

/** `missed`: the run was not begun in time, and the job wants no later one. */
export type RunResult = "running" | "done" | "failed" | "stopped" | "died" | "missed";

/** What is stored at the end of a run. `runFor`: the regular time that the run was for. `regular`: that of the next run. */
export interface RunEnd {
  due: Date;
  regular: Date;
  attempts: number;
  trouble: JobTrouble | null;
  result: RunResult;
  runFor: Date;
  /** Of this run. */
  error: string | null;
}

type Ended = JobClaim & StoredTrouble & Pick<ClaimedJob, "runId"> & Omit<RunEnd, "trouble">;
const end = statement<Ended>("end_your_job").sql(
  `WITH ended AS (
     UPDATE your_jobs SET leased_until = NULL, ended_at = now(),
       due_at = :due, regular_at = :regular, attempts = :attempts, last_error = :lastError,
       failing_since = :failingSince, overdue_at = :overdueAt, alarmed_at = :alarmedAt
     WHERE name = :name AND lease = :lease RETURNING name
   )
   UPDATE your_job_runs SET ended_at = now(), result = :result, regular_at = :runFor, error = :error
   WHERE id = :runId AND EXISTS (SELECT FROM ended)`,
);

export const endJob = (db: Queryable, { name, lease, runId }: ClaimedJob, { trouble, ...ended }: RunEnd) =>
  db.query(end, { name, lease, runId, ...ended, ...stored(trouble) });

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

// A run that an operator's page asks for is one of the timetable that falls due now: the process that claims it runs it as any other.
const ask = statement<{ name: string; by: string }, { isFree: boolean; after: number }>(
  "ask_for_your_job",
).sql(
  `WITH job AS (
     SELECT name, leased_until IS NULL OR leased_until <= now() AS free FROM your_jobs WHERE name = :name FOR UPDATE
   ), asked AS (
     UPDATE your_jobs j SET due_at = least(due_at, now()), asked_by = :by FROM job WHERE j.name = job.name AND job.free
   )
   SELECT free AS "isFree", coalesce((SELECT max(id) FROM your_job_runs r WHERE r.name = job.name), 0) AS after FROM job`,
);

/** Asks for a run now. `isFree`: no process runs the job. `after`: the run that is asked for has a higher id. */
export const askForJob = (db: Queryable, name: string, by: string) => oneRow(db, ask, { name, by });

const withdraw = statement<{ name: string }>("withdraw_your_job").sql(
  `UPDATE your_jobs SET due_at = greatest(due_at, regular_at), asked_by = NULL WHERE name = :name AND asked_by IS NOT NULL`,
);

/** Withdraws what was asked for, unless a process has begun it. */
export const withdrawJob = (db: Queryable, name: string) => db.query(withdraw, { name });

const RUN = columnsOf<RunModel>()(
  "r",
  "id",
  "name",
  "regularAt",
  "askedBy",
  "process",
  "startedAt",
  "endedAt",
);

/** `seconds`: how long it took, or has taken so far. `error`: of this run. */
export type JobRun = RowOf<typeof RUN> & { result: RunResult; error: string | null; seconds: number };

// The next claim stores that a process has died.
const HAS_DIED = `(r.result = 'running' AND NOT EXISTS (SELECT FROM your_jobs j WHERE j.name = r.name AND j.leased_until > now()))`;
const SHOWN = `${RUN}, CASE WHEN ${HAS_DIED} THEN 'died' ELSE r.result END AS result,
     CASE WHEN ${HAS_DIED} THEN '${DIED}' ELSE r.error END AS error,
     extract(epoch FROM coalesce(r.ended_at, now()) - r.started_at)::float8 AS seconds`;

const firstAfter = statement<{ name: string; after: number }, JobRun>("find_run_of_your_job").sql(
  `SELECT ${SHOWN} FROM your_job_runs r WHERE r.name = :name AND r.id > :after ORDER BY r.id LIMIT 1`,
);

export const firstRunAfter = (db: Queryable, name: string, after: number) =>
  oneRow(db, firstAfter, { name, after });

type Page = { name: string; before: number | null; most: number };
const runs = statement<Page, JobRun>("list_runs_of_your_job").sql(
  `SELECT ${SHOWN} FROM your_job_runs r WHERE r.name = :name AND (:before::bigint IS NULL OR r.id < :before)
   ORDER BY r.id DESC LIMIT :most`,
);

/** The newest first. */
export const runsBefore = (db: Queryable, page: Page) => db.query(runs, page);

const lastOfEach = statement<object, JobRun>("last_runs_of_your_jobs").sql(
  `SELECT ${SHOWN} FROM (
     SELECT DISTINCT ON (name, result = 'running') * FROM your_job_runs ORDER BY name, result = 'running', id DESC) r`,
);

/** Of each job, the run that is under way and the last one that has ended. */
export const lastRuns = (db: Queryable) => db.query(lastOfEach);

const JOB = columnsOf<JobModel>()(
  "j",
  "name",
  "cron",
  "timeZone",
  "dueAt",
  "askedBy",
  "attempts",
  "lastError",
  "failingSince",
  "startedAt",
);
const jobs = statement<object, RowOf<typeof JOB> & { isRunning: boolean }>("list_your_jobs").sql(
  `SELECT ${JOB}, coalesce(leased_until > now(), false) AS "isRunning" FROM your_jobs j ORDER BY j.name`,
);

/** Also those that the code no longer has. */
export const storedJobs = (db: Queryable) => db.query(jobs);

const lastLook = statement<object, { seconds: number }>("seconds_without_your_jobs").sql(
  `SELECT extract(epoch FROM now() - at)::float8 AS seconds FROM heartbeats WHERE name = 'run-your-jobs'`,
);

/** For how many seconds no process has looked for due jobs; `null` if none ever has. */
export const secondsWithoutJobs = async (db: Queryable) => (await oneRow(db, lastLook))?.seconds ?? null;

/** Of each job so many runs are kept, and none for longer than so many days. */
export const RUNS_KEPT = 200;
export const DAYS_KEPT = 90;
const prune = statement("prune_runs_of_your_jobs").sql(
  `DELETE FROM your_job_runs WHERE id IN (
     SELECT id FROM (
       SELECT id, started_at, row_number() OVER (PARTITION BY name ORDER BY id DESC) AS nth FROM your_job_runs) r
     WHERE nth > ${RUNS_KEPT} OR started_at < now() - interval '${DAYS_KEPT} days' LIMIT 1000)`,
);

export const pruneRuns = (db: Queryable) => db.query(prune);
