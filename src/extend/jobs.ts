import { setMaxListeners } from "node:events";
import { createTask } from "node-cron";
import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/database.ts";
import { messageOf, Misconfigured, storable } from "../errors.ts";
import { LeaseLost, orNullAfter, untilCut } from "../within.ts";
import { HOLD_EVERY_MS, LONGEST_STEP_MS } from "../work/step.ts";
import { timed } from "../work/vendor-steps.ts";
import type { Extensions, Rotation, YourJob } from "./contract.ts";
import { claimJobs, endJob, holdJob, nextJobInSeconds, planJob, type ClaimedJob } from "./store.ts";

const MINUTE_MS = 60_000;
/** Of the 25 seconds in which a process stops. */
const STOP_PATIENCE_MS = 10_000;

/** A week. Node's timers take no more than 24 days. */
const LONGEST_JOB_MINUTES = 10_080;

/** What can stand in an address, a command and a label. */
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Throws one {@link Misconfigured} that lists every fault in your service's extensions. */
export function checkExtensions(yours: Extensions): void {
  const { jobs = [], actions = {}, operatorActions = {} } = yours;
  const { overlapMinutes = 0, everyDays = 1 }: Partial<Rotation> = yours.rotation ?? {};
  const names = jobs.map(({ name }) => name);
  const faults = [
    ...[...names, ...Object.keys(actions), ...Object.keys(operatorActions)]
      .filter((name) => !NAME.test(name))
      .map((name) => `the name "${name}" must be of small letters, digits and hyphens.`),
    ...names
      .filter((name, index) => names.indexOf(name) < index)
      .map((name) => `two jobs have the name "${name}".`),
    ...jobs
      .filter(({ at }) => !hasTime(at))
      .map(
        ({ name, at }) =>
          `the job ${name} is to run at "${at}", which is no cron expression, or never comes.`,
      ),
    ...jobs
      .filter(({ mostMinutes = 1 }) => !(mostMinutes > 0 && mostMinutes <= LONGEST_JOB_MINUTES))
      .map(({ name }) => `of the job ${name}, mostMinutes is above 0 and at most ${LONGEST_JOB_MINUTES}.`),
    ...(overlapMinutes >= 0 && everyDays >= 1 && Number.isFinite(overlapMinutes + everyDays)
      ? []
      : ["of rotation, overlapMinutes is at least 0 and everyDays at least 1, and both finite."]),
  ];
  if (faults.length > 0) throw new Misconfigured(["src/your-service is invalid:", ...faults].join("\n  "));
}

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
    const claimed = await ctx.work.patiently(() => claimJobs(ctx.db, idle()));
    for (const each of claimed) {
      const ending = new AbortController();
      // A job may make any number of calls with its signal.
      setMaxListeners(0, ending.signal);
      const job = jobs.find(({ name }) => name === each.name)!;
      const notStored = (error: unknown) =>
        ctx.log.error({ job: job.name, error }, "The end of your job is not stored; it runs again");
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
    /** Aborts what runs, and waits for it. */
    async stop(): Promise<void> {
      isStopping = true;
      const runs = [...running.values()];
      for (const { ending } of runs) ending.abort();
      await orNullAfter(STOP_PATIENCE_MS, Promise.all(runs.map(({ ended }) => ended)));
    },
  };
}

class Hangs extends Error {}

/** `ending`: is aborted when the process stops. Rejects only if the run's end cannot be stored. */
async function runOne(ctx: Context, job: YourJob, claimed: ClaimedJob, ending: AbortController) {
  const { name, at, mostMinutes = 60 } = job;
  const startedMs = performance.now();
  const late = () => new Hangs(`It has not ended after ${mostMinutes} minutes`);
  const hold = () => holdJob(ctx.db, claimed);
  const limits = { ms: mostMinutes * MINUTE_MS, late, cuts: [], lease: { hold, everyMs: HOLD_EVERY_MS } };
  const isCut = () => ending.signal.aborted;
  const error = await timed(ctx, `jobs.${name}`, isCut, () =>
    untilCut(limits, (signal) =>
      ctx.trace.inSpan(`job ${name}`, { parent: null }, async () => {
        signal.addEventListener("abort", () => ending.abort(signal.reason));
        // Why it was cut off counts, not how it ended then.
        await Promise.resolve(job.run(ending.signal)).finally(() => signal.throwIfAborted());
      }),
    ),
  ).then(
    () => null,
    (thrown: unknown) => thrown ?? messageOf(thrown),
  );
  if (error instanceof LeaseLost) return;
  const hasCrashed = isCut() && ctx.hasCrashed;
  const end = (due: Date, attempts: number, words: string | null) =>
    retryWhileUnreachable(() => endJob(ctx.db, claimed, { due, error: words, attempts }), {
      upToMs: LONGEST_STEP_MS,
    });
  // By the database's clock, which says what is due.
  const now = new Date(claimed.now.getTime() + performance.now() - startedMs);
  if (isCut() && !hasCrashed && !(error instanceof Hangs)) return end(now, claimed.attempts, null);
  const next = nextTime(at, now);
  if (error === null && !hasCrashed) {
    ctx.log.info({ job: name, next }, "A job of yours is done");
    return end(next, 0, null);
  }
  const pauseMinutes = Math.min(2 ** claimed.attempts, 64);
  const due = new Date(Math.min(next.getTime(), now.getTime() + pauseMinutes * MINUTE_MS));
  const alarm = error instanceof Hangs ? { alarm: "job_hangs" } : {};
  ctx.log.error({ ...alarm, job: name, error, nextTry: due }, "A job of yours failed");
  const words = hasCrashed ? "Its process crashed." : storable(ctx.scrubber.scrub(messageOf(error)));
  return end(due, claimed.attempts + 1, words);
}

/** When a job is to run next after `now`. Throws if `at` is no cron expression, or of a day that never comes. */
function nextTime(at: string, now: Date): Date {
  const task = createTask(at, () => undefined, { timezone: "UTC" });
  try {
    // The first after this process's clock may be past for the database's.
    const times = task.getNextRuns(100);
    return times.find((time) => time > now) ?? times.at(-1)!;
  } finally {
    void task.destroy();
  }
}

function hasTime(at: string): boolean {
  try {
    return Boolean(nextTime(at, new Date()));
  } catch {
    return false;
  }
}
