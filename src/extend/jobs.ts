import { schedule, validate } from "node-cron";
import type { Context } from "../context.ts";
import { messageOf, Misconfigured } from "../errors.ts";
import { within } from "../within.ts";
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
const USUAL_MINUTES = 60;
const LONGEST_PAUSE_MINUTES = 64;

/** Throws `Misconfigured` for a job without a name of its own, or with a cron expression that means nothing. */
export function checkYourJobs(jobs: readonly YourJob[]): void {
  const names = jobs.map(({ name }) => name);
  for (const { name, at } of jobs) {
    if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name) || names.indexOf(name) !== names.lastIndexOf(name))
      throw new Misconfigured(
        `src/your-service: the job "${name}" needs a name of its own, of small letters, digits and hyphens.`,
      );
    if (!validate(at))
      throw new Misconfigured(`src/your-service: the job ${name} has no cron expression in "at": "${at}".`);
  }
}

/** Runs the vendor's jobs that are due, each in one process at a time. */
export function createYourJobs(ctx: Context, jobs: readonly YourJob[]) {
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  let isPlanned = false;
  const byName = new Map(jobs.map((job) => [job.name, job]));

  /** Claims what is due, and leaves it running. */
  async function runDue(): Promise<number> {
    if (jobs.length === 0 || stopping.signal.aborted) return 0;
    if (!isPlanned)
      await planJobs(
        ctx.db,
        jobs.map((job) => ({ ...job, next: nextTime(job) })),
      );
    isPlanned = true;
    const idle = [...byName.keys()].filter((name) => !running.has(name));
    const claimed = await claimJobs(ctx.db, idle);
    for (const each of claimed) {
      const run = runOne(ctx, byName.get(each.name)!, each, stopping.signal)
        .catch((error: unknown) =>
          ctx.log.error(
            { job: each.name, error },
            "The end of a job of yours is not stored; it is run again",
          ),
        )
        .finally(() => running.delete(each.name));
      running.set(each.name, run);
    }
    return claimed.length;
  }

  return {
    runDue,
    nextInSeconds: () => nextJobInSeconds(ctx.db, [...byName.keys()]),
    /** Asks what runs to stop, and waits for it. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running.values());
    },
  };
}

async function runOne(ctx: Context, job: YourJob, claimed: ClaimedJob, stopping: AbortSignal): Promise<void> {
  const { name, mostMinutes = USUAL_MINUTES } = job;
  const lost = new AbortController();
  const signal = AbortSignal.any([stopping, lost.signal, AbortSignal.timeout(mostMinutes * MINUTE_MS)]);
  const holding = setInterval(() => {
    // While the database is unreachable nobody else can claim it either.
    void holdJob(ctx.db, claimed).then(
      (isOurs) => isOurs || lost.abort(),
      () => undefined,
    );
  }, HOLD_EVERY_MS);
  try {
    await within(mostMinutes * MINUTE_MS, job.run(signal), () => new JobHangs(mostMinutes));
    if (stopping.aborted)
      return await endJob(ctx.db, claimed, { due: new Date(), error: null, attempts: claimed.attempts });
    await endJob(ctx.db, claimed, { due: nextTime(job), error: null, attempts: 0 });
    ctx.log.info({ job: name }, "A job of yours is done");
  } catch (error) {
    const attempts = claimed.attempts + 1;
    const due = stopping.aborted ? new Date() : soonest(nextTime(job), attempts);
    const alarm = error instanceof JobHangs ? { alarm: "job_hangs" } : {};
    if (!stopping.aborted)
      ctx.log.error({ ...alarm, job: name, error, nextTry: due }, "A job of yours failed");
    await endJob(ctx.db, claimed, { due, error: ctx.scrubber.scrub(messageOf(error)), attempts });
  } finally {
    clearInterval(holding);
  }
}

class JobHangs extends Error {
  constructor(minutes: number) {
    super(`It has not ended after ${minutes} minutes`);
  }
}

/** When a job is to run next, by its cron expression. */
function nextTime({ at }: YourJob): Date {
  const task = schedule(at, () => undefined, { timezone: "UTC" });
  const next = task.getNextRun();
  void task.destroy();
  if (!next) throw new Misconfigured(`src/your-service: "${at}" names a time that never comes.`);
  return next;
}

function soonest(next: Date, attempts: number): Date {
  const minutes = Math.min(2 ** (attempts - 1), LONGEST_PAUSE_MINUTES);
  return new Date(Math.min(next.getTime(), Date.now() + minutes * MINUTE_MS));
}
