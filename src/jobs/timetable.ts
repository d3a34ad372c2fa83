import type { Context } from "../context.ts";
import { createRecovery } from "../credentials/lost-grants.ts";
import { refreshesSettled } from "../credentials/pools.ts";
import { nextDueInSeconds } from "../credentials/queue.ts";
import { reopenQuarantined } from "../credentials/sealed.ts";
import { pruneRuns } from "../extend/job-store.ts";
import { createYourJobs } from "../extend/jobs.ts";
import { planRotations } from "../extend/rotation.ts";
import { pruneCustomers } from "../people/customer-store.ts";
import { prunePeople } from "../people/store.ts";
import { failStranded } from "../resources/end-store.ts";
import { findLateSteps } from "../resources/late-steps.ts";
import { lookAgain } from "../resources/looks.ts";
import { takeDownRefused } from "../resources/refused-provisions.ts";
import type { LaneName } from "../resources/step-kinds.ts";
import type { Job, JobName } from "./run.ts";

/** The background jobs. Each finds its work by the state of rows at every tick of `SWEEP_CRON`, also after a crash. */
export function timetable(ctx: Context): Job[] {
  const { exchanges, refreshes, credentials, work } = ctx;
  const yours = createYourJobs(ctx, ctx.vendor.jobs ?? []);
  const ofLane = (lane: LaneName): Omit<Job, "name"> => ({
    run: (signal) => work.runDue(lane, signal),
    settled: work.settled,
    nextInSeconds: () => work.nextInSeconds(lane),
  });
  const jobs: Record<JobName, Omit<Job, "name">> = {
    "exchange-grants": {
      run: exchanges.fill,
      settled: exchanges.settled,
      nextInSeconds: () => nextDueInSeconds(ctx.db, "grant"),
    },
    "recover-grants": createRecovery(ctx),
    // Token pairs of resources and of people who signed in.
    "refresh-tokens": {
      run: refreshes.fill,
      settled: () => refreshesSettled(ctx),
      nextInSeconds: () => nextDueInSeconds(ctx.db, "pair"),
    },
    "run-steps": ofLane("platform"),
    // A job for each lane, because a run waits while all places of its lane are taken.
    "run-vendor-steps": { ...ofLane("vendor"), mayCompute: true },
    "run-rotations": { ...ofLane("rotation"), mayCompute: true },
    "run-suspensions": { ...ofLane("suspension"), mayCompute: true },
    "plan-rotations": { run: () => planRotations(ctx) },
    // The jobs of your service.
    "run-your-jobs": {
      mayCompute: true,
      run: yours.runDue,
      settled: yours.stop,
      nextInSeconds: yours.nextInSeconds,
    },
    "find-late-steps": { run: () => findLateSteps(ctx) },
    "look-at-apps": { run: (signal) => lookAgain(ctx, signal) },
    "fail-stranded": {
      run: async () => {
        await failStranded(ctx);
        await takeDownRefused(ctx);
      },
    },
    "spread-secret": { run: credentials.secrets.spread },
    "reopen-quarantined": { run: () => reopenQuarantined(ctx) },
    "prune-sessions": {
      run: async () => {
        await prunePeople(ctx);
        await pruneCustomers(ctx);
        await pruneRuns(ctx.db);
      },
    },
  };
  return Object.entries(jobs).map(([name, job]) => ({ ...job, name }));
}
