import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { schedule, validate } from "node-cron";
import type { Context } from "../context.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { messageOf, Misconfigured } from "../errors.ts";
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
/** How long a run may go on when the process stops; it has 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

/** Throws `Misconfigured` for a job without a name of its own, or with a cron expression that means nothing. */
export function checkYourJobs(jobs: readonly YourJob[]): void {
  const names = jobs.map(({ name }) => name);
  for (const job of jobs) {
    const { name, at } = job;
    if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name) || names.indexOf(name) !== names.lastIndexOf(name))
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
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  let isPlanned = false;
  const byName = new Map(jobs.map((job) => [job.name, job]));
  const idle = () => [...byName.keys()].filter((name) => !running.has(name));

  /** Claims what is due, and leaves it running. */
  async function runDue(): Promise<number> {
    if (jobs.length === 0 || stopping.signal.aborted) return 0;
    if (!isPlanned)
      await planJobs(
        ctx.db,
        jobs.map((job) => ({ ...job, next: nextTime(job, new Date()) })),
      );
    isPlanned = true;
    const claimed = await claimJobs(ctx.db, idle());
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
    nextInSeconds: () => nextJobInSeconds(ctx.db, idle()),
    /** Asks what runs to end, and waits for it, ten seconds at most. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running.values());
    },
  };
}

/** Thrown into a run that is cut off. */
class CutOff extends Error {
  readonly why: "stops" | "hangs" | "overtaken";
  constructor(why: CutOff["why"], message: string) {
    super(message);
    this.why = why;
  }
}

/** Runs a claimed job, and stores when it is next due. Rejects only if that cannot be stored. */
async function runOne(ctx: Context, job: YourJob, claimed: ClaimedJob, stopping: AbortSignal): Promise<void> {
  const startedMs = performance.now();
  const error = await outcomeOf(ctx, job, claimed, stopping);
  const isCut = error instanceof CutOff && error.why !== "hangs";
  if (error instanceof CutOff && error.why === "overtaken") return;
  // By the database's clock, which says what is due.
  const now = new Date(claimed.now.getTime() + performance.now() - startedMs);
  const next = nextTime(job, now);
  const attempts = error === null ? 0 : claimed.attempts + (isCut ? 0 : 1);
  const pause = Math.min(2 ** (attempts - 1), LONGEST_PAUSE_MINUTES) * MINUTE_MS;
  const soon = new Date(Math.min(next.getTime(), now.getTime() + pause));
  const due = error === null ? next : isCut ? now : soon;
  if (error === null) ctx.log.info({ job: job.name, next }, "A job of yours is done");
  else if (!isCut)
    ctx.log.error(
      { ...(error instanceof CutOff && { alarm: "job_hangs" }), job: job.name, error, nextTry: due },
      "A job of yours failed",
    );
  // PostgreSQL takes no NUL in a text.
  const words = isCut || error === null ? null : messageOf(error).replaceAll("\0", "").slice(0, 500);
  await retryWhileDatabaseAway(() =>
    endJob(ctx.db, claimed, { due, error: words && ctx.scrubber.scrub(words), attempts }),
  );
}

/** Runs a job under its lease. What it threw, or why it was cut off; null if it is done. */
async function outcomeOf(
  { db }: Context,
  { run, mostMinutes = USUAL_MINUTES }: YourJob,
  claimed: ClaimedJob,
  stopping: AbortSignal,
): Promise<unknown> {
  const ending = new AbortController();
  const cut = (why: CutOff["why"], message: string) => ending.abort(new CutOff(why, message));
  const stop = () => cut("stops", "The process stops");
  stopping.addEventListener("abort", stop);
  const limit = setTimeout(
    () => cut("hangs", `It has not ended after ${mostMinutes} minutes`),
    mostMinutes * MINUTE_MS,
  );
  const holding = setInterval(() => {
    // While the database is unreachable nobody else can claim it either.
    void holdJob(db, claimed).then(
      (isOurs) => isOurs || cut("overtaken", "Another process runs it"),
      () => undefined,
    );
  }, HOLD_EVERY_MS);
  const givenUp = once(ending.signal, "abort").then(() =>
    sleep(stopping.aborted ? STOP_PATIENCE_MS : 0, null, { ref: false }),
  );
  try {
    await Promise.race([run(ending.signal), givenUp]);
    return ending.signal.aborted ? ending.signal.reason : null;
  } catch (error) {
    return ending.signal.aborted ? ending.signal.reason : error;
  } finally {
    stopping.removeEventListener("abort", stop);
    clearTimeout(limit);
    clearInterval(holding);
  }
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
