import { schedule as cronSchedule, type ScheduledTask } from "node-cron";
import type { Log } from "../log.ts";
import { watchClock } from "./clock-watch.ts";

/** Something that happens later. It finds its work by state, so a run too many does no harm. */
export interface Job<Name extends string = string> {
  name: Name;
  /** It may compute: a process that is here to answer others is never woken for it, and leaves it to those that tick. */
  mayCompute?: boolean;
  /** Starts or does what is due, until nothing is or `signal` says stop. May answer how much it took. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Resolves when nothing that a run started is under way. */
  settled?(): Promise<void>;
  /** Seconds until there is something to do again, if that is known; null: the next tick will see. */
  nextInSeconds?(): Promise<number | null>;
}

export interface Jobs<Name extends string = string> {
  names: readonly Name[];
  /**
   * Looks for due work at every tick of `cron`; with null there are no ticks, and a job runs only when it is woken, one
   * that may compute never. Before this, nothing runs.
   */
  start(cron: string | null): void;
  /** Runs a job soon: in `inMs`, or when its present run ends. Nothing happens where the job does not run. */
  wake(name: Name, inMs?: number): void;
  /** Runs every job soon. */
  wakeAll(): void;
  /** No tick, no claim from now on; resolves when what runs has ended. */
  stop(): Promise<void>;
}

/** A run stops claiming after this, and the next goes on: so a heartbeat is never much older. */
const LONGEST_RUN_MS = 20_000;
/** A run that has not ended after this hangs; the next tick no longer waits for it. Leases keep the two apart. */
const HANGS_AFTER_MS = 60_000;
/** Work due sooner than this is not left to the next tick. */
const SOON_SECONDS = 20;
const LEAST_PAUSE_MS = 100;

/** The only user of node-cron, whose own guard against overlap would never run a job again after one that hangs. */
export function createJobs<Name extends string>({
  jobs,
  beat,
  log,
}: {
  jobs: readonly Job<Name>[];
  beat(name: string): Promise<void>;
  log: Log;
}): Jobs<Name> {
  let isStopping = false;
  /** Of what listens: a run, and what it started and left under way. */
  const claiming = new Set<AbortController>();
  const running = new Map<string, { since: number; run: Promise<void> }>();
  const timers = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  let tasks: ScheduledTask[] = [];
  let stopWatching = () => {};
  /** Those that run here. */
  let awake: readonly Job[] = [];

  // What the package has to say (a missed tick, when something blocked the process) goes into the log like all else.
  const logger = {
    info: (message: string) => log.debug(message),
    debug: (message: string | Error) => log.debug(message),
    warn: (message: string) => log.warn(message),
    error: (message: string | Error, error?: Error) =>
      log.error(
        { error: error ?? (message instanceof Error ? message : new Error(message)) },
        "The timetable failed",
      ),
  };

  function tick(job: Job): void {
    const present = running.get(job.name);
    if (isStopping) return;
    if (present && performance.now() - present.since < HANGS_AFTER_MS) return;
    if (present)
      log.error({ alarm: "job_hangs", job: job.name }, "A job hangs; starting it again beside the old run");
    const entry = { since: performance.now(), run: runOnce(job) };
    running.set(job.name, entry);
    void entry.run.finally(() => {
      if (running.get(job.name) === entry) running.delete(job.name);
    });
  }

  /**
   * Says stop after the longest run, or when the process stops, also where the run has ended by then. Not made with
   * `AbortSignal.any`: of each signal that comes from one that lives as long as the process, Node 20 keeps something.
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
      // What fell due while this run was at work is older than `nextInSeconds` looks back: look again.
      const seconds = typeof taken === "number" && taken > 0 ? 0 : await job.nextInSeconds?.();
      if (seconds != null && seconds < SOON_SECONDS) wake(job, Math.max(seconds * 1000, LEAST_PAUSE_MS));
    } catch (error) {
      log.error({ job: job.name, error }, "A job failed; the next tick tries again");
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
      else tick(job);
    }, inMs);
    timers.set(job.name, { timer, at });
  }

  function schedule(cron: string): void {
    tasks = jobs.map((job) => cronSchedule(cron, () => tick(job), { name: job.name, logger }));
  }

  async function unschedule(): Promise<void> {
    for (const task of tasks.splice(0)) await task.destroy();
  }

  /** A schedule waits for the moment that was next by the old clock: after an hour back, that is an hour away. */
  async function onClockSet(cron: string, byMs: number): Promise<void> {
    log.warn({ byMs: Math.round(byMs) }, "The clock was set; what is due goes by the database's");
    await unschedule();
    if (isStopping) return;
    schedule(cron);
    for (const job of jobs) wake(job, 0);
  }

  return {
    names: jobs.map(({ name }) => name),
    start(cron) {
      awake = cron === null ? jobs.filter(({ mayCompute }) => !mayCompute) : jobs;
      if (cron === null) return;
      schedule(cron);
      stopWatching = watchClock((byMs) => void onClockSet(cron, byMs));
    },
    wake(name, inMs = 0) {
      const job = jobs.find((each) => each.name === name);
      if (job) wake(job, inMs);
    },
    wakeAll() {
      for (const job of jobs) wake(job, 0);
    },
    async stop() {
      isStopping = true;
      for (const claims of claiming) claims.abort();
      for (const { timer } of timers.values()) clearTimeout(timer);
      stopWatching();
      await unschedule();
      await Promise.all([...running.values()].map(({ run }) => run));
      await Promise.all(jobs.map(async (job) => job.settled?.()));
    },
  };
}
