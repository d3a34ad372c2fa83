import type { Sandbox } from "../../packages/sandbox/index.ts";
import type { Database } from "../../src/database/database.ts";
import { oneRow, positional, type Queryable } from "../../src/database/statement.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { eventually } from "./eventually.ts";

// How a test makes time pass: for the platform, and for what the service has stored. The service has no clock of its own
// that a test could move: it compares stored times with the database's clock. So the stored times are moved instead.

/** A length of time. The members add up: `{ days: 14, minutes: 1 }`. */
export interface Span {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
}

/** How a test of your service makes time pass. */
export interface Time {
  /**
   * Makes time pass for both sides. The platform's clock goes forward, and each time that the service has stored becomes so
   * much older: when a resource was made, when a token expires, when a step or a job is due. So do timestamps and dates in
   * the tables of your own (a date by whole days). What fell due is then done, as after a stop of the service for that long:
   * wait for it with `eventually` or `world.quiet`. Before you call it, let running work end (`world.quiet`): a grant that
   * is not exchanged yet expires. It does not change what your backend or your code keeps.
   */
  pass(span: Span): Promise<void>;
  /**
   * Runs one of your jobs now, and resolves when the run has ended. Throws the error of a run that failed. A run that is
   * under way is awaited first.
   */
  runJob(name: string): Promise<void>;
  /**
   * Makes the next try of all that waits for its time at this resource due now: `finish` after an answer `later`, a function
   * after an error, config vars that the platform did not take. Resolves when each was tried once, successfully or not. The
   * overlap of a rotation stays ({@link Time.endOverlap}).
   */
  hurry(uuid: string): Promise<void>;
  /**
   * Ends the overlap of a rotation: waits until the app has the new credentials, and has `retire` called now. Resolves when
   * the old credentials are retired. Throws the error of a `retire` that failed.
   */
  endOverlap(uuid: string): Promise<void>;
}

interface Needs {
  db: Database;
  sandbox: Pick<Sandbox, "control">;
  service(): RunningService;
}

export function timeOf({ db, sandbox, service }: Needs): Time {
  /** Has the jobs of the service in this process look for due work now. Other processes look at their next sweep. */
  function wakeJobs(): void {
    const { jobs } = service().services;
    for (const name of jobs.names) jobs.wake(name);
  }

  return {
    async pass(span) {
      const seconds = secondsOf(span);
      let isAdvanced = false;
      const advance = () => {
        if (!isAdvanced) sandbox.control.advanceClock(seconds);
        isAdvanced = true;
      };
      await unlessDeadlocked(() => db.planned((tx) => storedTimesAreOlderBy(tx, seconds, advance)));
      wakeJobs();
    },

    async runJob(name) {
      // A service that has just started has not stored its jobs yet.
      const { names } = await eventually(async () => oneRow(db, readJobNames));
      if (!names.includes(name))
        throw new Error(`There is no job "${name}". The jobs are: ${names.join(", ")}.`);
      // A job that runs is not made due.
      const before = await eventually(() => oneRow(db, makeJobDue, [name]));
      wakeJobs();
      const { error } = await eventually(async () => {
        const row = (await oneRow(db, readJob, [name]))!;
        return row.lease > before.lease && !row.isRunning ? row : null;
      });
      if (error !== null) throw new Error(`The job "${name}" failed: ${error}`);
    },

    async hurry(uuid) {
      const waiting = await eventually(async () => {
        const steps = (await db.query(readSteps, [uuid])).filter(({ kind }) => kind !== "retire");
        if (!steps.every(({ isWaiting }) => isWaiting))
          throw new Error(`${uuid} has work that is under way.`);
        // One that falls due by itself in this moment is awaited, and not tried twice.
        await db.query(makeStepsDue, [steps.map(({ id }) => id), steps.map(({ lease }) => lease)]);
        return steps;
      });
      wakeJobs();
      await eventually(async () => {
        const left = await db.query(readSteps, [uuid]);
        return waiting.every(({ id, lease }) =>
          left.every((step) => step.id !== id || (step.lease > lease && !step.isRunning)),
        );
      });
    },

    async endOverlap(uuid) {
      const [{ id, lease }] = await eventually(async () => {
        const found = await db.query(makeRetireDue, [uuid]);
        if (found.length === 0) throw new Error(`No overlap of a rotation of ${uuid} has begun.`);
        return found as [StepRow];
      });
      wakeJobs();
      const left = await eventually(async () => {
        const step = (await db.query(readSteps, [uuid])).find((each) => each.id === id);
        return step ? step.lease > lease && !step.isRunning && step : undefined;
      });
      if (left) throw new Error(`The old credentials are not retired: ${left.error ?? left.said}`);
    },
  };
}

function secondsOf({ days = 0, hours = 0, minutes = 0, seconds = 0 }: Span): number {
  const all = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  if (all > 0 && Number.isFinite(all)) return all;
  throw new RangeError("Time can only pass forward: the span must be above 0.");
}

interface StepRow {
  id: number;
  kind: string;
  lease: number;
  isRunning: boolean;
  /** It waits for its time, not for tokens or for a process. */
  isWaiting: boolean;
  error: string | null;
  said: string | null;
}
const STEP = `id, kind, lease, leased_until IS NOT NULL AS "isRunning", last_error AS error, detail->>'said' AS said,
  leased_until IS NULL AND coalesce(due_at > now(), false) AS "isWaiting"`;
const readSteps = positional<StepRow>("test_time_steps", `SELECT ${STEP} FROM steps WHERE uuid = $1`);
const makeStepsDue = positional(
  "test_time_steps_due",
  `UPDATE steps SET due_at = now() FROM unnest($1::bigint[], $2::int[]) AS seen (id, lease)
   WHERE (steps.id, steps.lease) = (seen.id, seen.lease) AND steps.due_at > now()`,
);
const makeRetireDue = positional<StepRow>(
  "test_time_retire_due",
  `UPDATE steps SET due_at = now() WHERE uuid = $1 AND kind = 'retire' AND leased_until IS NULL RETURNING ${STEP}`,
);

interface JobRow {
  lease: number;
  isRunning: boolean;
  error: string | null;
}
const JOB = `lease, leased_until IS NOT NULL AS "isRunning", last_error AS error`;
const readJob = positional<JobRow>("test_time_job", `SELECT ${JOB} FROM your_jobs WHERE name = $1`);
const makeJobDue = positional<JobRow>(
  "test_time_job_due",
  `UPDATE your_jobs SET due_at = now() WHERE name = $1 AND leased_until IS NULL RETURNING ${JOB}`,
);
const readJobNames = positional<{ names: string[] }>(
  "test_time_job_names",
  `SELECT array_agg(name ORDER BY name) AS names FROM your_jobs HAVING count(*) > 0`,
);

/** What processes say of themselves as they run, and totals by the hour: these are about now. */
const OF_NOW = ["_prisma_migrations", "processes", "heartbeats", "database_history", "metric_hours"];

interface Table {
  name: string;
  columns: { name: string; isDate: boolean }[];
}
const tablesWithTimes = positional<Table>(
  "test_time_tables",
  `SELECT format('%I.%I', c.table_schema, c.table_name) AS name,
     jsonb_agg(jsonb_build_object('name', format('%I', c.column_name), 'isDate', c.data_type = 'date')) AS columns
   FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
   WHERE t.table_type = 'BASE TABLE' AND t.table_schema IN ('public', 'yours') AND NOT t.table_name = ANY($1)
     AND (c.data_type LIKE 'timestamp%' OR c.data_type = 'date') AND c.is_generated = 'NEVER'
     -- A process that holds work goes on holding it.
     AND c.column_name <> 'leased_until'
   GROUP BY c.table_schema, c.table_name ORDER BY 1`,
);

/** A statement of the service's may hold one of the tables and wait for another: PostgreSQL then ends one of the two. */
async function unlessDeadlocked(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 5 || (error as { code?: string }).code !== "40P01") throw error;
    }
  }
}

/** Longer than any span: by way of a time so far away, rows with unique times are moved past each other. */
const FAR_DAYS = 1_000_000;

async function storedTimesAreOlderBy(tx: Queryable, seconds: number, once: () => void): Promise<void> {
  const run = (text: string, values: unknown[] = []) => tx.query(positional("", text), values);
  const tables = await tx.query(tablesWithTimes, [OF_NOW]);
  // So that no row is written with a time of before, and without the triggers that keep a record as it was written.
  await run(`LOCK TABLE ${tables.map(({ name }) => name).join(", ")} IN SHARE ROW EXCLUSIVE MODE`);
  once();
  for (const { name, columns } of tables) {
    await run(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
    for (const [sign, days, more] of [
      ["+", FAR_DAYS, 0],
      ["-", FAR_DAYS, seconds],
    ] as const) {
      const moved = columns.map(({ name: column, isDate }) =>
        isDate
          ? `${column} = ${column} ${sign} (${days} + ${Math.floor(more / 86_400)})`
          : `${column} = ${column} ${sign} make_interval(secs => ${days} * 86400.0 + ${more})`,
      );
      await run(`UPDATE ${name} SET ${moved.join(", ")}`);
    }
    await run(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
  }
  // As the service prunes them: a form that is signed in the same second has the same token, and would count as used.
  await run(`DELETE FROM used_sign_ons WHERE expires_at <= now()`);
  for (const member of ["dueSince", "saidSince"])
    await run(
      `UPDATE steps SET detail = jsonb_set(detail, '{${member}}',
         to_jsonb((detail->>'${member}')::timestamptz - make_interval(secs => $1))) WHERE detail ? '${member}'`,
      [seconds],
    );
}
