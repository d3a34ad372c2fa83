import { createTask } from "node-cron";
import { endsByItself } from "../database/retry.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";

/** The background jobs, as the heartbeats, the metrics and the log name them. What each runs is in timetable.ts. */
export const JOB_NAMES = [
  "exchange-grants",
  "recover-grants",
  "refresh-tokens",
  "run-steps",
  "run-vendor-steps",
  "run-your-jobs",
  "run-rotations",
  "run-suspensions",
  "plan-rotations",
  "find-late-steps",
  "look-at-apps",
  "fail-stranded",
  "spread-secret",
  "reopen-quarantined",
  "prune-sessions",
] as const;
export type JobName = (typeof JOB_NAMES)[number];

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/**
 * A function for each job that makes it run soon: `runVendorSteps` for `run-vendor-steps`. The job runs in `inMs` ms, the
 * pace's `soonMs` unless given, once for all calls until then.
 */
export type Wake = Readonly<Record<CamelCase<JobName>, (inMs?: number) => void>>;

export function wakeBy(wake: (job: JobName, inMs: number) => void, soonMs = 0): Wake {
  const functions = JOB_NAMES.map((job) => {
    const name = job.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    return [name, (inMs = soonMs) => wake(job, inMs)];
  });
  return Object.fromEntries(functions) as Wake;
}

/** A background job. It finds its work by the state of rows, so a superfluous run does no harm. */
export interface Job {
  name: string;
  /** The job may use much CPU time, so a process without ticks, which only answers requests, never runs it. */
  mayCompute?: boolean;
  /** Starts or does the due work until none is left or `signal` is aborted. May return how many rows it took. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Resolves when all work that runs have started has ended. */
  settled?(): Promise<void>;
  /** Seconds until work falls due again; `null` if unknown: the next tick runs the job. */
  nextInSeconds?(): Promise<number | null>;
}

export interface Jobs {
  names: readonly string[];
  /** Runs every job now and at each tick of `cron`; with `null`, only when it is woken. Before this call, no job runs. */
  start(cron: string | null): void;
  /** Runs a job in `inMs` ms, or when its present run ends if that is later. A job of other processes is ignored. */
  wake(name: string, inMs?: number): void;
  /** Ends the ticks and all claiming; resolves when everything that runs has ended. */
  stop(): Promise<void>;
}

/** A run stops claiming after this, and the next one continues: a working job's heartbeat is never much older. */
const LONGEST_RUN_MS = 20_000;
/** A run that has not ended after this counts as hung. The next tick starts another one; leases keep the two apart. */
const HANGS_AFTER_MS = 60_000;
/** Work due sooner than this is not left to the next tick: a grant's longest pause is a minute. */
const SOON_SECONDS = 70;

type Needs = Pick<Pace, "soonMs"> & { jobs: readonly Job[]; beat(name: string): Promise<void>; log: Log };

export function createJobs({ jobs, beat, log, soonMs }: Needs): Jobs {
  let isStopping = false;
  /** The signals of recent runs, including ended ones: work that a run started still listens to its signal. */
  const claiming = new Set<AbortController>();
  const running = new Map<string, { since: number; run: Promise<void> }>();
  const timers = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  /** The jobs that this process runs. */
  let awake: readonly Job[] = [];
  let endTicks = () => {};

  function begin(job: Job): void {
    const present = running.get(job.name);
    if (isStopping || (present && performance.now() - present.since < HANGS_AFTER_MS)) return;
    if (present)
      log.error(
        { alarm: "job_hangs", job: job.name },
        "A job hangs; a second run is started beside the first",
      );
    const entry = { since: performance.now(), run: runOnce(job) };
    running.set(job.name, entry);
    void entry.run.finally(() => {
      if (running.get(job.name) === entry) running.delete(job.name);
    });
  }

  /**
   * A signal that is aborted after `LONGEST_RUN_MS`, or when the process stops, even if the run has ended by then. Not
   * made with `AbortSignal.any`: Node 20 leaks memory for each signal derived from one that lives as long.
   */
  function signalOfRun(): AbortSignal {
    const claims = new AbortController();
    claiming.add(claims);
    setTimeout(() => {
      claiming.delete(claims);
      claims.abort();
    }, LONGEST_RUN_MS).unref();
    return claims.signal;
  }

  async function runOnce(job: Job): Promise<void> {
    try {
      const taken = await job.run(signalOfRun());
      await beat(job.name);
      // Work that fell due during the run may be too old for `nextInSeconds`, so a run that took rows is followed by another.
      const seconds = typeof taken === "number" && taken > 0 ? 0 : await job.nextInSeconds?.();
      if (seconds != null && seconds < SOON_SECONDS) wake(job, Math.max(seconds * 1000, 2 * soonMs));
    } catch (error) {
      const level = endsByItself(error) ? "warn" : "error";
      log[level]({ job: job.name, error }, "A job failed; the next tick retries");
    }
  }

  function wake(job: Job, inMs: number): void {
    const at = performance.now() + inMs;
    const waiting = timers.get(job.name);
    if (!awake.includes(job) || isStopping || (waiting && waiting.at <= at)) return;
    clearTimeout(waiting?.timer);
    const timer = setTimeout(() => {
      timers.delete(job.name);
      const present = running.get(job.name);
      if (present) void present.run.finally(() => wake(job, 0));
      else begin(job);
    }, inMs);
    timers.set(job.name, { timer, at });
  }

  return {
    names: jobs.map(({ name }) => name),
    start(cron) {
      awake = cron === null ? jobs.filter(({ mayCompute }) => !mayCompute) : jobs;
      if (cron === null) return;
      endTicks = everyTick(cron, (stoodStill) => {
        if (stoodStill) for (const entry of running.values()) entry.since = performance.now();
        jobs.forEach(begin);
      });
      for (const job of jobs) wake(job, 0);
    },
    wake(name, inMs = 0) {
      const job = jobs.find((each) => each.name === name);
      if (job) wake(job, inMs);
    },
    async stop() {
      isStopping = true;
      endTicks();
      for (const claims of claiming) claims.abort();
      for (const { timer } of timers.values()) clearTimeout(timer);
      await Promise.all([...running.values()].map(({ run }) => run));
      await Promise.all(jobs.map(async (job) => job.settled?.()));
    },
  };
}

/** If more seconds than this have passed, the process stood still or its clock was set. The jobs then run at once. */
const LONGEST_LOOK_SECONDS = 5;

/**
 * Calls `tick` in every second that `cron` names, until the returned function is called. node-cron's own timers wait
 * for a moment of the clock, which is an hour away after the clock was set back an hour.
 */
function everyTick(cron: string, tick: (stoodStill: boolean) => void): () => void {
  const timetable = createTask(cron, () => undefined);
  const second = () => Math.floor(Date.now() / 1_000);
  let seen = second();
  const timer = setInterval(() => {
    const now = second();
    const isOdd = now < seen || now > seen + LONGEST_LOOK_SECONDS;
    const passed = Array.from({ length: isOdd ? 0 : now - seen }, (_, i) => new Date((now - i) * 1_000));
    seen = now;
    if (isOdd || passed.some((at) => timetable.match(at))) tick(isOdd);
  }, 500);
  return () => clearInterval(timer);
}
