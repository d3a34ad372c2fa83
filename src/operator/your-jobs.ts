import { setTimeout as sleep } from "node:timers/promises";
import type { OpenContext } from "../context.ts";
import type { Database } from "../database/database.ts";
import { KitError } from "../errors.ts";
import type { YourJob } from "../extend/contract.ts";
import {
  askForJob,
  firstRunAfter,
  type JobRun,
  lastRuns,
  type RunResult,
  runsBefore,
  secondsWithoutJobs,
  storedJobs,
  withdrawJob,
} from "../extend/job-store.ts";
import { createYourJobs, planJobs } from "../extend/jobs.ts";
import { UsedWrongly } from "./errors.ts";
import { duration, moment, momentAway, sentence } from "./wording.ts";
import type { How } from "./work-through.ts";

// The jobs of your service, as an operator sees and runs them.

type Planned = Pick<YourJob, "name" | "at" | "timeZone" | "missed">;

/**
 * All jobs, by name. `isRemoved`: the code has it no more, and its row is left. `next`: null before a process that runs jobs
 * has planned it. `asked`: who asked for a run that has not begun.
 */
export async function listJobs(db: Database, ofCode: readonly Planned[]) {
  const [rows, runs] = [await storedJobs(db), await lastRuns(db)];
  const names = [...new Set([...ofCode, ...rows].map(({ name }) => name))].sort();
  return names.map((name) => {
    const job = ofCode.find((each) => each.name === name);
    const row = rows.find((each) => each.name === name);
    const ofJob = runs.filter((run) => run.name === name);
    const present = ofJob.find(({ result }) => result === "running");
    const last = ofJob.find(({ result }) => result !== "running");
    const [isRemoved, isRunning] = [job === undefined, row?.isRunning ?? false];
    return {
      name,
      at: job?.at ?? row!.cron,
      timeZone: job ? (job.timeZone ?? "UTC") : row!.timeZone,
      missed: job ? (job.missed ?? "once") : null,
      isRemoved,
      next: isRemoved || isRunning ? null : (row?.dueAt.toISOString() ?? null),
      asked: row?.askedBy ?? null,
      running: isRunning ? runningOf(row!, present) : null,
      last: last ? shownOf(last) : null,
      failures: row?.attempts ?? 0,
      failingSince: row?.lastError == null ? null : (row.failingSince?.toISOString() ?? null),
      lastError: row?.lastError ?? null,
    };
  });
}

export type ListedJob = Awaited<ReturnType<typeof listJobs>>[number];

/** A process of the release before stores no run. */
const runningOf = ({ startedAt }: { startedAt: Date | null }, run: JobRun | undefined) => ({
  since: (run?.startedAt ?? startedAt)?.toISOString() ?? null,
  process: run?.process ?? null,
  by: run?.askedBy ?? null,
});

const shownOf = ({
  id,
  regularAt,
  askedBy,
  process,
  startedAt,
  endedAt,
  result,
  error,
  seconds,
}: JobRun) => ({
  id,
  result,
  dueAt: regularAt.toISOString(),
  startedAt: startedAt.toISOString(),
  endedAt: endedAt?.toISOString() ?? null,
  seconds,
  by: askedBy,
  process,
  error,
});

export type ShownRun = ReturnType<typeof shownOf>;

const PAGE = 50;

/**
 * The last runs of a job, the newest first; also of one that the code has no more. `next`, passed as `before`, gives the
 * following page; null: there is none.
 */
export async function jobHistory(
  db: Database,
  ofCode: readonly Planned[],
  name: string,
  before: number | null = null,
) {
  const isKnown =
    ofCode.some((job) => job.name === name) || (await storedJobs(db)).some((job) => job.name === name);
  if (!isKnown) throw unknownJob(ofCode, name);
  const found = await runsBefore(db, { name, before, most: PAGE + 1 });
  const runs = found.slice(0, PAGE).map(shownOf);
  return { runs, next: found.length > PAGE ? runs.at(-1)!.id : null };
}

const unknownJob = (jobs: readonly Planned[], name: string) =>
  new UsedWrongly(
    `Your service has no job "${name}". Jobs: ${jobs.map((job) => job.name).join(", ") || "none"}.`,
  );

/** Who runs a job by hand. `isHere`: in this process, a command; else a process that runs jobs takes it. */
interface ByHand extends Pick<How, "signal"> {
  by: string;
  isHere: boolean;
}

/**
 * Runs a job now, and returns the run when it has ended. It is claimed as a job that falls due, so one process runs it. Throws
 * if the job runs already, or if no process takes it.
 */
export async function runJob(
  ctx: OpenContext,
  name: string,
  { by, isHere, signal }: ByHand,
): Promise<JobRun> {
  const { db, pace } = ctx;
  const jobs = ctx.vendor.jobs ?? [];
  const job = jobs.find((each) => each.name === name);
  if (!job) throw unknownJob(jobs, name);
  const after = isHere ? await runHere(ctx, job, { by, signal }) : await askElsewhere(ctx, job, by);
  for (const askedMs = performance.now(); ;) {
    const run = await firstRunAfter(db, name, after);
    if (run && run.result !== "running") return run;
    const isLate = performance.now() - askedMs > pace.handOverMs;
    if (!run && (isLate || signal.aborted)) {
      await withdrawJob(db, name);
      throw isLate
        ? notTaken(`No process has begun ${name} for ${duration(pace.handOverMs / 1_000)}.`)
        : new KitError("interrupted", `${name} was not begun.`);
    }
    if (signal.aborted) throw new KitError("interrupted", `${name} still runs in ${run!.process}.`);
    await sleep(pace.followMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Runs the job in this process until its end. Returns the id before that of the run, as {@link askElsewhere}. */
async function runHere(
  ctx: OpenContext,
  job: YourJob,
  { by, signal }: Omit<ByHand, "isHere">,
): Promise<number> {
  const here = createYourJobs(ctx, [job], by);
  const stop = () => void here.stop();
  signal.addEventListener("abort", stop);
  const [begun] = await here.begin();
  if (signal.aborted) stop();
  await here.ended();
  signal.removeEventListener("abort", stop);
  if (!begun) throw await runsAlready(ctx.db, job);
  return begun.runId - 1;
}

/** Asks the processes that run jobs for a run. Returns the id of the last run before it. */
async function askElsewhere(ctx: OpenContext, job: YourJob, by: string): Promise<number> {
  await mustBeTaken(ctx.db);
  await planJobs(ctx, [job]);
  const asked = (await askForJob(ctx.db, job.name, by))!;
  if (!asked.isFree) throw await runsAlready(ctx.db, job);
  ctx.wake.runYourJobs();
  return asked.after;
}

async function runsAlready(db: Database, job: YourJob): Promise<KitError> {
  const { running } = (await listJobs(db, [job])).find(({ name }) => name === job.name)!;
  const since = running?.since ? ` since ${momentAway(running.since)}` : "";
  const where = running?.process ? ` in ${running.process}` : "";
  const whose = running?.by ? `, as ${running.by} asked` : "";
  return new KitError("job_runs", `${job.name} runs already${since}${where}${whose}. Nothing was begun.`);
}

/** No process that runs jobs has looked for so long: there is none. Each looks at each tick of `SWEEP_CRON`. */
const NOT_LOOKED_SECONDS = 120;

async function mustBeTaken(db: Database): Promise<void> {
  const seconds = await secondsWithoutJobs(db);
  if (seconds !== null && seconds <= NOT_LOOKED_SECONDS) return;
  throw notTaken(
    `No process has looked for due jobs${seconds === null ? " yet" : ` for ${duration(seconds)}`}.`,
  );
}

const notTaken = (words: string) =>
  new KitError(
    "no_jobs",
    `${words} Start a worker, or the web process with WEB_JOBS=on. Or run the job from a command: kit jobs run NAME.`,
  );

const RESULTS: Readonly<Record<RunResult, string>> = {
  running: "runs",
  done: "done",
  failed: "failed",
  stopped: "stopped with its process",
  died: "cut off: its process ended",
  missed: "left out",
};

/** "in 3 s", or "after 3 s" of a run that did not end well. */
export const tookInWords = ({ result, seconds }: Pick<ShownRun, "result" | "seconds">): string =>
  result === "missed" ? "" : `${result === "done" ? "in" : "after"} ${duration(seconds)}`;

/** "failed after 3 s". */
export const runInWords = (run: Pick<ShownRun, "result" | "seconds">): string =>
  `${RESULTS[run.result]} ${tookInWords(run)}`.trimEnd();

/** What came of a run by hand, and when the job is next. */
export async function endInWords(db: Database, run: JobRun): Promise<string> {
  const row = (await storedJobs(db)).find(({ name }) => name === run.name);
  const again = run.result === "done" ? "The next run is at" : "It is tried again at";
  const next = row && !row.isRunning ? ` ${again} ${moment(row.dueAt.toISOString())} UTC.` : "";
  const dueAt = moment(run.regularAt.toISOString());
  const why = run.result === "failed" && run.error !== null ? `: ${sentence(run.error)}` : ".";
  return `${run.name}, for ${dueAt} UTC: ${runInWords(run)}${why}${next}`;
}

export { shownOf as shownRun };
