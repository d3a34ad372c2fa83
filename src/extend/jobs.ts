import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
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
  type StoredTimes,
  storedTimes,
} from "./job-store.ts";
import { lastTime, nextTime, timesOf } from "./job-times.ts";

const MINUTE_MS = 60_000;
/** A job whose times another release has stored is planned again after this: the releases of a deploy do not undo each other. */
const PLANNED_FOR_MS = 10 * MINUTE_MS;
/** How long running jobs may continue when the process stops, which may take 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

/** Stores when each job is next, unless it is stored by the same times. */
export async function planJobs({ db }: Pick<Context, "db">, jobs: readonly YourJob[]): Promise<void> {
  for (const { name, at, timeZone = "UTC" } of jobs)
    await planJob(db, { name, at, timeZone, due: nextTime({ at, timeZone }, new Date()) });
}

/** `by`: the operator whose command runs the jobs now, due or not; a run that it stops is not begun again. */
export function createYourJobs(ctx: Context, jobs: readonly YourJob[], by: string | null = null) {
  const running = new Map<string, { ending: AbortController; ended: Promise<unknown> }>();
  let isStopping = false;
  let plannedMs = -Infinity;
  /** The id of the next claim. It stays until a claim is acknowledged, so that the next one finds what it has taken. */
  let claim = randomUUID();
  const idle = () => jobs.flatMap(({ name }) => (running.has(name) ? [] : [name]));
  const ended = () => Promise.all([...running.values()].map((run) => run.ended));

  async function begin(): Promise<ClaimedJob[]> {
    if (jobs.length === 0 || isStopping) return [];
    if (performance.now() - plannedMs > PLANNED_FOR_MS) {
      await planJobs(ctx, jobs);
      plannedMs = performance.now();
    }
    const claimed = await ctx.work.claimAfterRest(async () => {
      const taken = await claimJobs(ctx.db, { names: idle(), process: ctx.presence.name(), claim, by });
      claim = randomUUID();
      return taken;
    });
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
      const run = runOne(ctx, plannedAs(job, each), each, { ending, isByHand: by !== null })
        .catch(notStored)
        .finally(() => running.delete(job.name));
      running.set(job.name, { ending, ended: run });
    }
    return claimed;
  }

  return {
    /** Begins the jobs that it can claim, and returns them. */
    begin,
    runDue: async () => (await begin()).length,
    nextInSeconds: async () => ctx.work.restSeconds() || nextJobInSeconds(ctx.db, idle()),
    /** Resolves when the jobs that run now have ended. */
    ended,
    /** Aborts the running jobs and waits for them. */
    async stop(): Promise<void> {
      isStopping = true;
      for (const { ending } of running.values()) ending.abort();
      await orNullAfter(STOP_PATIENCE_MS, ended());
    },
  };
}

/** A job with the times by which it is planned: another release may have planned it. */
const plannedAs = (job: YourJob, { at, timeZone }: StoredTimes): YourJob => ({ ...job, at, timeZone });

class Hangs extends Error {}

/** The alarm is raised after so many failed runs in a row, or earlier if the next regular time has passed. */
const ALARM_AFTER_RUNS = 3;
const STOPPED = "The process stopped before the job had ended.";

/** How a process runs a job. `ending` is aborted when the process stops. */
interface Running {
  ending: AbortController;
  isByHand: boolean;
}

/** Runs one claimed job. Rejects only if the result cannot be stored. */
async function runOne(ctx: Context, job: YourJob, given: ClaimedJob, { ending, isByHand }: Running) {
  const { name, mostMinutes = 60 } = job;
  const startedMs = performance.now();
  if (isMissed(job, given)) return leaveOut(ctx, job, given);
  const claimed = given.hasDied ? await noteDeath(ctx, job, given) : given;
  const dueAt = timeOfRun(ctx, job, claimed);
  const late = () => new Hangs(`The job has not ended after ${counted(mostMinutes, "minute")}`);
  const hold = () => holdJob(ctx.db, claimed);
  const limits = { ms: mostMinutes * MINUTE_MS, late, cuts: [], lease: { hold, everyMs: HOLD_EVERY_MS } };
  const isCut = () => ending.signal.aborted;
  const error = await timed(ctx, `jobs.${name}`, isCut, () =>
    untilCut(limits, (signal) =>
      ctx.trace.inSpan(`job ${name}`, { parent: null }, async () => {
        signal.addEventListener("abort", () => ending.abort(signal.reason));
        // The reason of the abort counts, not what the aborted job returns or throws.
        await Promise.resolve(job.run(ending.signal, { dueAt })).finally(() => signal.throwIfAborted());
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
  const stored = () => storedTimes(ctx.db, name);
  // A release that was started during the run may have planned the job again.
  const times = await retryWhileUnreachable(stored, { upToMs: LONGEST_STEP_MS });
  const planned = times ? plannedAs(job, times) : job;
  const run = { job: planned, claimed, dueAt, now, next: nextTime(planned, now) };
  const end = isStopped
    ? endOfStopped(ctx, run, isByHand)
    : error === null && !hasCrashed
      ? endOfGood(ctx, run)
      : endOfFailed(ctx, run, hasCrashed ? "The process crashed." : error);
  await retryWhileUnreachable(() => endJob(ctx.db, claimed, end), { upToMs: LONGEST_STEP_MS });
  // Another time that was missed.
  if (end.due <= now) ctx.wake.runYourJobs();
}

/** A time that passed longer ago was missed. */
const MISSED_AFTER_MS = 5 * MINUTE_MS;
/** A job that runs for each time that was missed runs for so many. */
const MOST_MISSED = 366;

/** Whether the time of a run was missed, and the job wants no later run. A run that was begun before is repeated. */
const isMissed = ({ missed }: YourJob, { askedBy, hasDied, trouble, now, dueAt }: ClaimedJob) =>
  missed === "skip" &&
  askedBy === null &&
  !hasDied &&
  trouble === null &&
  now.getTime() - dueAt.getTime() > MISSED_AFTER_MS;

async function leaveOut(ctx: Context, job: YourJob, claimed: ClaimedJob): Promise<void> {
  const { name, now, dueAt, attempts, trouble } = claimed;
  const next = nextTime(job, now);
  ctx.log.warn({ job: name, dueAt, next }, "Job of yours left out: no process ran jobs at its time");
  const ended = {
    due: next,
    regular: next,
    runFor: dueAt,
    attempts,
    trouble,
    result: "missed",
    error: null,
  } as const;
  await retryWhileUnreachable(() => endJob(ctx.db, claimed, ended), { upToMs: LONGEST_STEP_MS });
}

/** The regular time that a run is for. */
function timeOfRun({ log }: Context, job: YourJob, { name, regularAt, now, dueAt }: ClaimedJob): Date {
  const last = lastTime(job, now) ?? dueAt;
  if (job.missed !== "each" || regularAt === null || regularAt >= last) return last;
  let oldest = last;
  let count = 0;
  for (const time of timesOf(job, now, -1)) {
    if (time < regularAt) return oldest;
    if (count === MOST_MISSED) break;
    oldest = time;
    count += 1;
  }
  if (oldest > regularAt)
    log.error(
      { job: name, since: regularAt, until: oldest },
      `Job of yours missed more than ${MOST_MISSED} times; the oldest are left out`,
    );
  return oldest;
}

/** A run that has ended. `dueAt`: the time it was for. `now`: when it ended. `next`: the next regular time after that. */
interface Run {
  job: YourJob;
  claimed: ClaimedJob;
  dueAt: Date;
  now: Date;
  next: Date;
}

function endOfGood(
  ctx: Context,
  { job, claimed: { name, attempts, trouble }, dueAt, now, next }: Run,
): RunEnd {
  ctx.log.info({ job: name, dueAt, next }, "Job of yours done");
  if (trouble?.alarmedAt)
    ctx.log.warn({ job: name, failures: attempts, since: trouble.since }, "Job of yours works again");
  const regular = job.missed === "each" ? nextTime(job, dueAt) : next;
  const due = regular < now ? now : regular;
  return { due, regular, runFor: dueAt, attempts: 0, trouble: null, result: "done", error: null };
}

/** A stopped run starts again in the next process. It counts as failed if the next regular time has passed. */
function endOfStopped(ctx: Context, run: Run, isByHand: boolean): RunEnd {
  const { claimed, now, dueAt } = run;
  const { attempts, regularAt } = claimed;
  const ended = { regular: dueAt, runFor: dueAt, attempts, result: "stopped", error: STOPPED } as const;
  if (isByHand) {
    const isEarly = regularAt !== null && regularAt > now;
    const due = isEarly ? regularAt : afterPause(run);
    return { ...ended, ...(isEarly && { regular: regularAt }), due, trouble: claimed.trouble };
  }
  const trouble = troubleOf(run, claimed.trouble?.error ?? STOPPED);
  if (claimed.trouble && trouble.overdueAt! <= now) return { ...endOfFailed(ctx, run, STOPPED), due: now };
  return { ...ended, due: now, trouble };
}

function endOfFailed(ctx: Context, run: Run, error: unknown): RunEnd {
  const { claimed, now, dueAt } = run;
  const due = afterPause(run);
  const alarm = error instanceof Hangs ? { alarm: "job_hangs" } : {};
  ctx.log.error(
    { ...alarm, job: claimed.name, error, nextTry: due },
    "Job of yours failed; it will be retried",
  );
  const attempts = claimed.attempts + 1;
  const words = storable(ctx.scrubber.scrub(messageOf(error)));
  const trouble = alarmed(ctx, { ...claimed, now, attempts, trouble: troubleOf(run, words) }, due);
  return { due, regular: dueAt, runFor: dueAt, attempts, trouble, result: "failed", error: words };
}

/** When a run that failed is repeated. */
function afterPause({ claimed, now, next }: Run): Date {
  const pauseMinutes = Math.min(2 ** claimed.attempts, 64);
  return new Date(Math.min(next.getTime(), now.getTime() + pauseMinutes * MINUTE_MS));
}

const troubleOf = (
  { claimed: { now, trouble }, next }: Pick<Run, "claimed" | "next">,
  error: string,
): JobTrouble => ({
  since: now,
  alarmedAt: null,
  ...trouble,
  error,
  overdueAt: trouble?.overdueAt ?? next,
});

/** Logs and stores that the previous run failed because its process died. */
async function noteDeath(ctx: Context, job: YourJob, claimed: ClaimedJob): Promise<ClaimedJob> {
  const { name } = job;
  const { error } = claimed.trouble!;
  ctx.log.error({ job: name, error }, "Job of yours failed; it is retried now");
  const run = { claimed, next: nextTime(job, claimed.now) };
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
