import { schedule, validate } from "node-cron";
import type { Context } from "../context.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { messageOf, Misconfigured, storable } from "../errors.ts";
import { LeaseLost, orNullAfter, underLease } from "../within.ts";
import { NAME } from "./calls.ts";
import type { YourJob } from "./contract.ts";
import {
  claimJobs,
  endJob,
  holdJob,
  JOB_LEASE_SECONDS,
  nextJobInSeconds,
  planJobs,
  type ClaimedJob,
} from "./store.ts";

const HOLD_EVERY_MS = (JOB_LEASE_SECONDS * 1000) / 3;
const MINUTE_MS = 60_000;
/** How long a run may go on when the process stops; it has 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

/** Throws `Misconfigured` for a job without a name of its own, or with a cron expression that means nothing. */
export function checkYourJobs(jobs: readonly YourJob[]): void {
  const names = jobs.map(({ name }) => name);
  for (const job of jobs) {
    const { name, at } = job;
    if (!NAME.test(name) || names.indexOf(name) !== names.lastIndexOf(name))
      throw new Misconfigured(
        `src/your-service: the job "${name}" needs a name of its own, of small letters, digits and hyphens.`,
      );
    if (!validate(at))
      throw new Misconfigured(`src/your-service: the job ${name} has no cron expression in "at": "${at}".`);
    nextTime(job, new Date());
  }
}

/** Runs the vendor's jobs that are due, each in one process at a time. */
export function createYourJobs(ctx: Context, jobs: readonly YourJob[]) {
  const running = new Map<string, Promise<unknown>>();
  const stopping = new AbortController();
  let isPlanned = false;
  const byName = new Map(jobs.map((job) => [job.name, job]));
  const idle = () => [...byName.keys()].filter((name) => !running.has(name));

  /** Claims what is due, and leaves it running. */
  async function runDue(): Promise<number> {
    if (jobs.length === 0 || stopping.signal.aborted) return 0;
    const planned = () => jobs.map((job) => ({ ...job, next: nextTime(job, new Date()) }));
    if (!isPlanned) await planJobs(ctx.db, planned());
    isPlanned = true;
    const claimed = await claimJobs(ctx.db, idle());
    for (const each of claimed) {
      const { name: job } = each;
      const notStored = (error: unknown) =>
        ctx.log.error({ job, error }, "The end of a job of yours is not stored; it is run again");
      const run = runOne(ctx, byName.get(job)!, each, stopping.signal).catch(notStored);
      running.set(job, run);
      void run.finally(() => running.delete(job));
    }
    return claimed.length;
  }

  return {
    runDue,
    nextInSeconds: () => nextJobInSeconds(ctx.db, idle()),
    /** Asks what runs to end, and waits for it, ten seconds at most. */
    async stop(): Promise<void> {
      stopping.abort();
      await orNullAfter(STOP_PATIENCE_MS, Promise.all(running.values()));
    },
  };
}

class Hangs extends Error {}

/** Rejects only if its end cannot be stored. */
async function runOne(ctx: Context, job: YourJob, claimed: ClaimedJob, stopping: AbortSignal) {
  const startedMs = performance.now();
  const error = await underItsLease(ctx, job, claimed, stopping).then(
    () => null,
    (thrown: unknown) => thrown ?? messageOf(thrown),
  );
  const isCut = error instanceof Hangs || error instanceof LeaseLost || stopping.aborted;
  const result = isCut ? "cut_off" : error === null ? "done" : "failed";
  ctx.metrics.yourCall({ function: `jobs.${job.name}`, result }, (performance.now() - startedMs) / 1_000);
  if (error instanceof LeaseLost) return;
  const end = (due: Date, attempts: number, words: string | null) =>
    retryWhileDatabaseAway(() => endJob(ctx.db, claimed, { due, error: words, attempts }));
  // By the database's clock, which says what is due.
  const now = new Date(claimed.now.getTime() + performance.now() - startedMs);
  if (stopping.aborted) return end(now, claimed.attempts, null);
  const next = nextTime(job, now);
  if (error === null) {
    ctx.log.info({ job: job.name, next }, "A job of yours is done");
    return end(next, 0, null);
  }
  const pauseMinutes = Math.min(2 ** claimed.attempts, 64);
  const due = new Date(Math.min(next.getTime(), now.getTime() + pauseMinutes * MINUTE_MS));
  const alarm = error instanceof Hangs ? { alarm: "job_hangs" } : {};
  ctx.log.error({ ...alarm, job: job.name, error, nextTry: due }, "A job of yours failed");
  return end(due, claimed.attempts + 1, storable(ctx.scrubber.scrub(messageOf(error))));
}

async function underItsLease(ctx: Context, job: YourJob, claimed: ClaimedJob, stopping: AbortSignal) {
  const { name, mostMinutes = 60 } = job;
  const ms = mostMinutes * MINUTE_MS;
  const hold = () => holdJob(ctx.db, claimed);
  const late = () => new Hangs(`It has not ended after ${mostMinutes} minutes`);
  await underLease({ hold, everyMs: HOLD_EVERY_MS, ms, late, cuts: [] }, (signal) =>
    ctx.trace.inSpan(`job ${name}`, { parent: null }, async () => {
      // Not `AbortSignal.any`: Node 20 leaks memory for each signal derived from one that lives as long as the process.
      const ending = new AbortController();
      const end = () => ending.abort(signal.aborted ? signal.reason : stopping.reason);
      for (const each of [signal, stopping]) each.addEventListener("abort", end);
      if (stopping.aborted) end();
      try {
        await job.run(ending.signal);
      } finally {
        stopping.removeEventListener("abort", end);
        // Why it was cut off counts, not how it ended then.
        signal.throwIfAborted();
      }
    }),
  );
}

/** When a job is to run next after `now`, by its cron expression. Throws `Misconfigured` if that never comes. */
function nextTime({ name, at }: YourJob, now: Date): Date {
  const task = schedule(at, () => undefined, { timezone: "UTC" });
  // The first after this process's clock may be past for the database's.
  const times = task.getNextRuns(100);
  void task.destroy();
  const next = times.find((time) => time > now) ?? times.at(-1);
  if (!next)
    throw new Misconfigured(`src/your-service: the job ${name} is to run at "${at}", which never comes.`);
  return next;
}
