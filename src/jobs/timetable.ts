import type { Context } from "../context.ts";
import { createPruneCustomers } from "../people/customer-prune.ts";
import { createFailStranded } from "../resources/end-store.ts";
import { createPrune } from "../people/prune.ts";
import type { JobName } from "./names.ts";
import type { Job } from "./run.ts";

/**
 * The background jobs. Each looks for its work by state at every tick of `SWEEP_CRON`, and sooner when something is
 * known to be due; so whatever a crash left behind is found.
 */
export function timetable(ctx: Context): Job<JobName>[] {
  const { credentials, work, peopleTokens, lostProvisions, db } = ctx;
  const { claims, grants, refresh } = credentials;
  const jobs: Record<JobName, Omit<Job, "name">> = {
    "exchange-grants": {
      run: grants.due,
      settled: grants.settled,
      nextInSeconds: claims.nextGrantInSeconds,
    },
    "refresh-tokens": {
      run: refresh.due,
      settled: refresh.settled,
      nextInSeconds: claims.nextRefreshInSeconds,
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
    "find-late-steps": { run: work.findLate },
    "fail-stranded": { run: createFailStranded(ctx) },
    "spread-secret": { run: credentials.spreadSecret },
    "reopen-quarantined": { run: credentials.reopenQuarantined },
    "refresh-people": {
      run: async (signal) => peopleTokens?.refreshDue(signal),
      settled: async () => peopleTokens?.refreshesSettled(),
      nextInSeconds: async () => peopleTokens?.nextRefreshInSeconds() ?? null,
    },
    "reopen-people": { run: async () => peopleTokens?.reopenQuarantined() },
    "prune-sign-ins": { run: createPrune(db) },
    "prune-customers": { run: createPruneCustomers(db) },
    "prune-lost-provisions": { run: lostProvisions.prune },
  };
  return Object.entries(jobs).map(([name, job]) => ({ ...job, name: name as JobName }));
}
