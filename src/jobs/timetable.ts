import type { Context } from "../context.ts";
import { nextDueInSeconds } from "../credentials/queue.ts";
import { reopenQuarantined } from "../credentials/sealed.ts";
import { refreshesSettled } from "../credentials/sweeps.ts";
import { prunePeopleAndCustomers } from "../people/store.ts";
import { createYourJobs } from "../extend/jobs.ts";
import { failStranded } from "../resources/end-store.ts";
import { planRotations } from "../work/rotation.ts";
import { lookAgain } from "../work/platform-steps.ts";
import { findLateSteps } from "../work/runner.ts";
import type { Job, JobName } from "./run.ts";

/** Each looks for its work by state at every tick of `SWEEP_CRON`, so whatever a crash left behind is found. */
export function timetable(ctx: Context): Job[] {
  const { exchanges, refreshes, credentials, work } = ctx;
  const yours = createYourJobs(ctx, ctx.vendor.jobs ?? []);
  const jobs: Record<JobName, Omit<Job, "name">> = {
    "exchange-grants": {
      run: exchanges.fill,
      settled: exchanges.settled,
      nextInSeconds: () => nextDueInSeconds(ctx.db, "grant"),
    },
    // Token pairs of resources and of people who signed in.
    "refresh-tokens": {
      run: refreshes.fill,
      settled: () => refreshesSettled(ctx),
      nextInSeconds: () => nextDueInSeconds(ctx.db, "pair"),
    },
    "run-steps": {
      run: (signal) => work.runDue("platform", signal),
      settled: work.settled,
      nextInSeconds: () => work.nextInSeconds("platform"),
    },
    // A separate job: its run waits while all of its places are taken, and must not hold up the steps above.
    "run-vendor-steps": {
      mayCompute: true,
      run: (signal) => work.runDue("vendor", signal),
      settled: work.settled,
      nextInSeconds: () => work.nextInSeconds("vendor"),
    },
    "run-rotations": {
      mayCompute: true,
      run: (signal) => work.runDue("rotation", signal),
      settled: work.settled,
      nextInSeconds: () => work.nextInSeconds("rotation"),
    },
    "plan-rotations": { run: () => planRotations(ctx) },
    // Those that your service brings along.
    "run-your-jobs": {
      mayCompute: true,
      run: yours.runDue,
      settled: yours.stop,
      nextInSeconds: yours.nextInSeconds,
    },
    "find-late-steps": { run: () => findLateSteps(ctx) },
    "look-at-apps": { run: (signal) => lookAgain(ctx, signal) },
    "fail-stranded": { run: () => failStranded(ctx) },
    "spread-secret": { run: credentials.secrets.spread },
    "reopen-quarantined": { run: () => reopenQuarantined(ctx) },
    "prune-sessions": { run: () => prunePeopleAndCustomers(ctx) },
  };
  return Object.entries(jobs).map(([name, job]) => ({ ...job, name }));
}
