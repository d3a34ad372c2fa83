import type { Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Credentials } from "../credentials/credentials.ts";
import type { PlatformFor } from "../resources/platform-for.ts";
import type { PeopleTokens } from "../sign-in/people-tokens.ts";
import type { StepRunner } from "../work/runner.ts";
import type { Job } from "./run.ts";

export type JobName = ReturnType<typeof timetable>[number]["name"];

/**
 * The background jobs. Each looks for its work by state at every tick of `SWEEP_CRON`, and sooner when something is
 * known to be due; so whatever a crash left behind is found.
 */
export function timetable(needs: {
  db: Queryable;
  credentials: Credentials;
  work: StepRunner;
  failStranded(): Promise<void>;
  platformFor: PlatformFor;
  /** Null: people cannot sign in here. */
  peopleTokens: PeopleTokens | null;
  pruneSignIns(): Promise<void>;
  pruneCustomers(): Promise<void>;
  pruneLostProvisions(): Promise<void>;
  log: Log;
}) {
  const { claims, grants, refresh, reopenQuarantined, spreadSecret } = needs.credentials;
  const { work, failStranded, peopleTokens, pruneSignIns, pruneCustomers, pruneLostProvisions } = needs;
  return [
    {
      name: "exchange-grants",
      run: grants.due,
      settled: grants.settled,
      nextInSeconds: claims.nextGrantInSeconds,
    },
    {
      name: "refresh-tokens",
      run: refresh.due,
      settled: refresh.settled,
      nextInSeconds: claims.nextRefreshInSeconds,
    },
    {
      name: "run-steps",
      run: (signal) => work.runDue("platform", signal),
      settled: work.settled,
      nextInSeconds: () => work.nextInSeconds("platform"),
    },
    // A separate job: its run waits while all of its places are taken, and must not hold up the steps above.
    {
      name: "run-vendor-steps",
      mayCompute: true,
      run: (signal) => work.runDue("vendor", signal),
      settled: work.settled,
      nextInSeconds: () => work.nextInSeconds("vendor"),
    },
    { name: "find-late-steps", run: work.findLate },
    { name: "fail-stranded", run: failStranded },
    { name: "spread-secret", run: spreadSecret },
    { name: "reopen-quarantined", run: reopenQuarantined },
    {
      name: "refresh-people",
      run: async (signal) => peopleTokens?.refreshDue(signal),
      settled: async () => peopleTokens?.refreshesSettled(),
      nextInSeconds: async () => peopleTokens?.nextRefreshInSeconds() ?? null,
    },
    { name: "reopen-people", run: async () => peopleTokens?.reopenQuarantined() },
    { name: "prune-sign-ins", run: pruneSignIns },
    { name: "prune-customers", run: pruneCustomers },
    { name: "prune-lost-provisions", run: pruneLostProvisions },
  ] as const satisfies readonly Job[];
}
