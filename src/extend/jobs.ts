import { setMaxListeners } from "node:events";
import { createTask } from "node-cron";
import { counted } from "../amounts.ts";
import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { messageOf, storable } from "../errors.ts";
import { timed } from "../resources/vendor-steps.ts";
import { LeaseLost, orNullAfter, untilCut } from "../within.ts";
import { HOLD_EVERY_MS } from "../work/lease.ts";
import { ALARM_AFTER_ATTEMPTS } from "../work/queue.ts";
import { LONGEST_STEP_MS } from "../work/runner.ts";
import type { YourJob } from "./contract.ts";
import {
  type ClaimedJob,
  claimJobs,
  endJob,
  holdJob,
  type JobTrouble,
  nextJobInSeconds,
  noteTrouble,
  planJob,
  type RunEnd,
} from "./store.ts";

const MINUTE_MS = 60_000;
/** How long running jobs may continue when the process stops, which may take 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

export function createYourJobs(ctx: Context, jobs: readonly YourJob[]) {
  const running = new Map<string, { ending: AbortController; ended: Promise<unknown> }>();
  let isStopping = false;
  let isPlanned = false;
  const idle = () => jobs.flatMap(({ name }) => (running.has(name) ? [] : [name]));

  async function runDue(): Promise<number> {
    if (jobs.length === 0 || isStopping) return 0;
    if (!isPlanned)
      for (const { name, at } of jobs) await planJob(ctx.db, name, at, nextTime(at, new Date()));
    isPlanned = true;
    const claimed = await ctx.work.claimAfterRest(() => claimJobs(ctx.db, idle()));
    for (const each of claimed) {
      const ending = new AbortController();
      // No warning about many listeners: a job may pass its signal to any number of calls.
      setMaxListeners(0, ending.signal);
      const job = jobs.find(({ name }) => name === each.name)!;
      const notStored = (error: unknown) =>
        ctx.log.error(
          { job: job.name, error },
          "The result of a job of yours could not be stored; the job runs again",
        );
      const ended = runOne(ctx, job, each, ending)
        .catch(notStored)
        .finally(() => running.delete(job.name));
      running.set(job.name, { ending, ended });
    }
    return claimed.length;
  }

  return {
    runDue,
    nextInSeconds: async () => ctx.work.restSeconds() || nextJobInSeconds(ctx.db, idle()),
    /** Aborts the running jobs and waits for them. */
    async stop(): Promise<void> {
      isStopping = true;
      const runs = [...running.values()];
      for (const { ending } of runs) ending.abort();
      await orNullAfter(STOP_PATIENCE_MS, Promise.all(runs.map(({ ended }) => ended)));
    },
  };
}

class Hangs extends Error {}

/** The alarm is raised after so many failed runs in a row, or earlier if the next regular time has passed. */
const ALARM_AFTER_RUNS = 3;
const STOPPED = "The process stopped before the job had ended.";

/** Runs one claimed job. `ending` is aborted when the process stops. Rejects only if the result cannot be stored. */
async function runOne(ctx: Context, job: YourJob, given: ClaimedJob, ending: AbortController) {
  const { name, at, mostMinutes = 60 } = job;
  const startedMs = performance.now();
  const claimed = given.hasDied ? await noteDeath(ctx, job, given) : given;
  const late = () => new Hangs(`The job has not ended after ${counted(mostMinutes, "minute")}`);
  const hold = () => holdJob(ctx.db, claimed);
  const limits = { ms: mostMinutes * MINUTE_MS, late, cuts: [], lease: { hold, everyMs: HOLD_EVERY_MS } };
  const isCut = () => ending.signal.aborted;
  const error = await timed(ctx, `jobs.${name}`, isCut, () =>
    untilCut(limits, (signal) =>
      ctx.trace.inSpan(`job ${name}`, { parent: null }, async () => {
        signal.addEventListener("abort", () => ending.abort(signal.reason));
        // The reason of the abort counts, not what the aborted job returns or throws.
        await Promise.resolve(job.run(ending.signal)).finally(() => signal.throwIfAborted());
      }),
    ),
  ).then(
    () => null,
    (thrown: unknown) => thrown ?? messageOf(thrown),
  );
  if (error instanceof LeaseLost) return;
  const hasCrashed = isCut() && ctx.hasCrashed;
  const isStopped = isCut() && !hasCrashed && !(error instanceof Hangs);
  // By the database's clock, which decides when jobs are due.
  const now = new Date(claimed.now.getTime() + performance.now() - startedMs);
  const run = { claimed, now, next: nextTime(at, now) };
  const end = isStopped
    ? endOfStopped(ctx, run)
    : error === null && !hasCrashed
      ? endOfGood(ctx, run)
      : endOfFailed(ctx, run, hasCrashed ? "The process crashed." : error);
  await retryWhileUnreachable(() => endJob(ctx.db, claimed, end), { upToMs: LONGEST_STEP_MS });
}

/** A run that has ended. `now`: when it ended. `next`: the next regular time after that. */
interface Run {
  claimed: ClaimedJob;
  now: Date;
  next: Date;
}

function endOfGood(ctx: Context, { claimed: { name, attempts, trouble }, next }: Run): RunEnd {
  ctx.log.info({ job: name, next }, "Job of yours done");
  if (trouble?.alarmedAt)
    ctx.log.warn({ job: name, failures: attempts, since: trouble.since }, "Job of yours works again");
  return { due: next, attempts: 0, trouble: null };
}

/** A stopped run starts again in the next process. It counts as failed if the next regular time has passed. */
function endOfStopped(ctx: Context, run: Run): RunEnd {
  const { claimed, now } = run;
  const trouble = troubleOf(run, claimed.trouble?.error ?? STOPPED);
  if (claimed.trouble && trouble.overdueAt! <= now) return { ...endOfFailed(ctx, run, STOPPED), due: now };
  return { due: now, attempts: claimed.attempts, trouble };
}

function endOfFailed(ctx: Context, run: Run, error: unknown): RunEnd {
  const { claimed, now, next } = run;
  const pauseMinutes = Math.min(2 ** claimed.attempts, 64);
  const due = new Date(Math.min(next.getTime(), now.getTime() + pauseMinutes * MINUTE_MS));
  const alarm = error instanceof Hangs ? { alarm: "job_hangs" } : {};
  ctx.log.error(
    { ...alarm, job: claimed.name, error, nextTry: due },
    "Job of yours failed; it will be retried",
  );
  const attempts = claimed.attempts + 1;
  const trouble = troubleOf(run, storable(ctx.scrubber.scrub(messageOf(error))));
  return { due, attempts, trouble: alarmed(ctx, { ...claimed, now, attempts, trouble }, due) };
}

const troubleOf = ({ claimed: { now, trouble }, next }: Run, error: string): JobTrouble => ({
  since: now,
  alarmedAt: null,
  ...trouble,
  error,
  overdueAt: trouble?.overdueAt ?? next,
});

/** Logs and stores that the previous run failed because its process died. */
async function noteDeath(ctx: Context, { name, at }: YourJob, claimed: ClaimedJob): Promise<ClaimedJob> {
  const { error } = claimed.trouble!;
  ctx.log.error({ job: name, error }, "Job of yours failed; it is retried now");
  const run = { claimed, now: claimed.now, next: nextTime(at, claimed.now) };
  const trouble = alarmed(ctx, { ...claimed, trouble: troubleOf(run, error) }, claimed.now);
  await noteTrouble(ctx.db, claimed, trouble).catch((error: unknown) =>
    ctx.log.warn(
      { job: name, error },
      "The failure of a job of yours could not be stored; it is stored when the present run ends",
    ),
  );
  return { ...claimed, trouble };
}

/** Raises the alarm of a failing job: once at first, then after every {@link ALARM_AFTER_ATTEMPTS} failed runs. */
function alarmed(
  ctx: Context,
  { name, attempts, now, trouble }: Pick<ClaimedJob, "name" | "attempts" | "now"> & { trouble: JobTrouble },
  nextTry: Date,
): JobTrouble {
  const { error, since, overdueAt, alarmedAt } = trouble;
  const isFailing = attempts >= ALARM_AFTER_RUNS || overdueAt! <= now;
  const isAgain = alarmedAt !== null && attempts % ALARM_AFTER_ATTEMPTS === 0;
  if (!isAgain && (alarmedAt !== null || !isFailing)) return trouble;
  const about = { alarm: "job_fails", job: name, failures: attempts, since, error, nextTry };
  ctx.log.error(about, `Job of yours failed ${counted(attempts, "time")}; still retrying`);
  return { ...trouble, alarmedAt: alarmedAt ?? now };
}

/** The next time of a cron expression after `now`. Throws if `at` is not a cron expression or has no next time. */
export function nextTime(at: string, now: Date): Date {
  const task = createTask(at, () => undefined, { timezone: "UTC" });
  try {
    // getNextRuns starts at this process's clock, which may be behind `now`, the database's clock.
    const times = task.getNextRuns(100);
    return times.find((time) => time > now) ?? times.at(-1)!;
  } finally {
    void task.destroy();
  }
}
