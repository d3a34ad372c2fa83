import { adviceOn, countedToMost, duration, sentence } from "../wording.ts";
import { fact } from "./fact.ts";

// What may be wrong with the work: jobs, the vendor's functions, tokens, steps.

const START =
  "Start the web process with WEB_JOBS=on, or a worker beside it. Is one running? Its log says what fails.";
const CATCH_UP =
  "First fix what else is found, above all of the database and the client secret. If that is nothing, look at the platform: kit status";
const BY_THEMSELVES = `${CATCH_UP}. They catch up by themselves.`;
const YOUR_BACKEND =
  "Fix your backend; the log has its errors. Then try at once what waits (kit steps retry --all), and cut off what hangs (kit steps cut-off --all). What cannot be done is given up: kit steps give-up UUID. Of each, kit resources show UUID says more.";
const THE_JOBS =
  "The log says more of what failed; docs/operate.md, at job_fails, what to do. Once its cause is fixed, run the job at once: kit jobs run NAME. A job that is due needs a worker, or WEB_JOBS=on. Times are UTC.";
const OF_JOBS = { command: "kit jobs list", page: { path: "/jobs", name: "Jobs" } };
const OF_RESOURCES = "functions, plans and resources";
/** What keeps calls to the platform from succeeding. */
const OF_CALLS = [
  "secret_missing",
  "secret_rejected",
  "platform_unreachable",
  "platform_fails",
  "platform_odd",
];
/** What keeps due work from being begun in time. */
const OF_LATENESS = ["no_process", "sweeps_never", "sweeps_late", "database_slow", "database_locked"];

interface Count {
  count: number;
}

/** Work of a function of the vendor's. */
interface OfFunction extends Count {
  name: string;
  isLong: boolean;
  lastError: string | null;
  plans: readonly string[];
}
const inPlans = ({ plans }: OfFunction) => `${plans.length === 1 ? "Plan" : "Plans"}: ${plans.join(", ")}.`;
const ofFunction = { usually: "now", isUrgent: ({ isLong }: OfFunction) => isLong } as const;

/** Calls that failed; `isSoon`: a customer's access ends within the hour. */
interface Failing extends Count {
  lastError: string | null;
  isSoon?: boolean;
  leftSeconds?: number;
}

interface OfSteps extends Count {
  kinds: readonly string[];
  lastError?: string | null;
}

/** Credentials in a state that needs a person. `canRecover`: the platform's endpoint for lost grants is in use. */
interface InState extends Count {
  state: string;
  reason: string;
  canRecover: boolean;
}
const inState = ({ count, state, reason }: InState) =>
  `${countedToMost(count, "resource")} in state ${state}${reason && ` (${reason})`}: ${adviceOn(state, reason)!.what}`;
const adviceFor = ({ state, reason, canRecover }: InState) =>
  canRecover ? "Recover what was lost: kit grants recover --all" : adviceOn(state, reason)!.todo;
const ofState = (state: string) => ({
  says: inState,
  names: "resources",
  cure: adviceFor,
  command: `kit resources list --state ${state}`,
  runbook: "AddonNeedsAttention",
});

interface OfJob {
  words: string;
  isCut?: boolean;
}
const asItIs = ({ words }: { words: string }) => words;

export const OF_THE_WORK = {
  sweeps_never: fact({
    title: "No job of the kit has ever run",
    urgency: "urgent",
    says: () => "No sweep has ever run: nothing is exchanged or refreshed.",
    cure: START,
    runbook: "AddonSweepsLate",
    alerts: ["AddonSweepsLate"],
  }),
  sweeps_late: fact<{ late: string; isLong: boolean; cron: string; none: string | null }>({
    title: "A job of the kit has not run",
    urgency: { usually: "now", isUrgent: ({ isLong }) => isLong },
    says: ({ late, none }) => `${none === null ? "" : `${none} `}${late}`,
    names: "the jobs",
    cure: ({ cron }) => `${START} (SWEEP_CRON is "${cron}".)`,
    causes: ["no_process", "database_slow", "database_locked"],
    runbook: "AddonSweepsLate",
    alerts: ["AddonSweepsLate", "AddonUpkeepLate"],
    alarms: ["job_hangs"],
  }),
  steps_wait: fact<Count>({
    title: "Put-off work waits",
    urgency: "now",
    says: ({ count }) => `${countedToMost(count, "step")} of put-off work waits for its turn.`,
    cure: "Is a sweep late, or do calls of your functions hang and take all places (your-service)?",
    command: "kit steps cut-off --all",
    buttons: ["/cut-off-all"],
    causes: [...OF_LATENESS, "function_hangs"],
    runbook: "AddonStepsWait",
    alerts: ["AddonStepsWait"],
  }),
  function_fails: fact<OfFunction>({
    title: "Your service fails",
    urgency: ofFunction,
    says: (its) =>
      `${its.name}() fails: of ${countedToMost(its.count, "resource")} the last call failed. The last error: ${sentence(its.lastError ?? "")} ${inPlans(its)}`,
    names: OF_RESOURCES,
    cure: YOUR_BACKEND,
    command: "kit steps retry --all",
    buttons: ["/retry-all", "/give-up-all"],
    runbook: "AddonYourServiceFails",
    alerts: ["AddonYourServiceFails"],
  }),
  function_hangs: fact<OfFunction>({
    title: "Your service hangs",
    urgency: ofFunction,
    says: (its) =>
      `${its.name}() hangs, or is too slow: ${countedToMost(its.count, "call")} under way. ${inPlans(its)}`,
    names: OF_RESOURCES,
    cure: YOUR_BACKEND,
    command: "kit steps cut-off --all",
    buttons: ["/cut-off-all", "/give-up-all"],
    runbook: "AddonYourServiceHangs",
    alerts: ["AddonYourServiceHangs"],
  }),
  job_fails: fact<OfJob>({
    title: "A job of your service fails",
    urgency: { usually: "later", isUrgent: ({ isCut }) => !isCut },
    says: asItIs,
    names: "the job",
    cure: THE_JOBS,
    ...OF_JOBS,
    runbook: "AddonYourJobsFail",
    alerts: ["AddonYourJobsFail"],
    alarms: ["job_fails"],
  }),
  job_not_run: fact<OfJob>({
    title: "A job of your service is due, and no process runs it",
    urgency: "urgent",
    says: asItIs,
    names: "the job",
    cure: THE_JOBS,
    ...OF_JOBS,
    causes: OF_LATENESS,
    runbook: "AddonYourJobsFail",
    alerts: ["AddonYourJobsFail"],
  }),
  job_not_planned: fact<{ names: readonly string[] }>({
    title: "A job of your service is not planned yet",
    urgency: "later",
    says: ({ names }) => `No process that runs jobs has planned ${names.join(", ")} yet.`,
    names: "the jobs",
    cure: THE_JOBS,
    runbook: "AddonYourJobsFail",
    noAlert: "`AddonYourJobsFail` rings if it lasts",
  }),
  grant_waits: fact({
    title: "A grant has not been exchanged",
    urgency: "urgent",
    says: () => "A grant waits for its exchange, and lives five minutes.",
    cure: CATCH_UP,
    command: "kit status",
    causes: [...OF_CALLS, ...OF_LATENESS],
    runbook: "AddonGrantsWait",
    alerts: ["AddonGrantsWait"],
  }),
  grants_fail: fact<Failing>({
    title: "Grants cannot be exchanged",
    urgency: "now",
    says: ({ count, lastError }) =>
      `The exchange of ${countedToMost(count, "grant")} fails. The last try: ${lastError}`,
    names: "resources",
    cure: `${CATCH_UP}. They are tried again within their five minutes.`,
    command: "kit status",
    causes: OF_CALLS,
    runbook: "AddonGrantsWait",
    alerts: ["AddonGrantsWait"],
  }),
  refreshes_late: fact<{ isSoon: boolean }>({
    title: "Tokens are not refreshed when they are due",
    urgency: { usually: "later", isUrgent: ({ isSoon }) => isSoon },
    says: () => "Refreshes are late.",
    cure: ({ isSoon }) => (isSoon ? CATCH_UP : BY_THEMSELVES),
    command: "kit status",
    causes: [...OF_CALLS, ...OF_LATENESS],
    runbook: "AddonRefreshesWait",
    alerts: ["AddonRefreshesWait"],
  }),
  tokens_fail: fact<Failing>({
    title: "Tokens cannot be refreshed",
    urgency: { usually: "later", isUrgent: ({ isSoon }) => isSoon === true },
    says({ count, leftSeconds, lastError }) {
      const end = leftSeconds! > 0 ? `ends in ${duration(leftSeconds!)}` : "has ended";
      return `The refresh of ${countedToMost(count, "token")} fails, the first ${end}. The last try: ${lastError}`;
    },
    names: "resources",
    cure: ({ isSoon }) => (isSoon ? CATCH_UP : BY_THEMSELVES),
    command: "kit status",
    buttons: ["/refresh-all"],
    causes: OF_CALLS,
    runbook: "AddonTokensOld",
    alerts: ["AddonTokensOld", "AddonPlatformFails"],
    alarms: ["refresh_misunderstood"],
  }),
  tokens_refused: fact<Failing>({
    title: "The platform refuses refresh tokens",
    urgency: { usually: "later", isUrgent: ({ isSoon }) => isSoon === true },
    says: ({ count, leftSeconds, lastError }) =>
      `The platform refuses the refresh ${count === 1 ? "token" : "tokens"} of ${countedToMost(count, "resource")}: revoked, or its add-on has ended. The last access token ${leftSeconds! > 0 ? `ends in ${duration(leftSeconds!)}, if it was not revoked too` : "has ended"}. The last answer: ${lastError}`,
    names: "resources",
    cure: "Is the add-on still there (kit reconcile)? If so, ask the platform's support why it revoked them: only the platform can issue others. After a day of refusals each is needs_reauth.",
    command: "kit reconcile",
    causes: ["database_restored", "restore_suspected"],
    runbook: "Refused tokens",
    alerts: ["AddonTokensOld"],
  }),
  steps_stuck: fact<OfSteps>({
    title: "Steps fail again and again",
    urgency: "urgent",
    says: ({ count, kinds }) =>
      `${countedToMost(count, "step")} failed again and again, or still went on after 11 hours: ${kinds.join(", ")}.`,
    names: "resources",
    cure: "Read what came of the last try, and fix it; the next follows by itself: kit resources show UUID",
    command: "kit resources show UUID",
    buttons: ["/retry-all", "/give-up-all"],
    runbook: "A step that is stuck",
    alarms: ["step_stuck"],
  }),
  steps_fail_at_platform: fact<OfSteps>({
    title: "Calls to the platform fail",
    urgency: "later",
    says: ({ count, kinds, lastError }) =>
      `${countedToMost(count, "step")} failed at the platform and will be tried again: ${kinds.join(", ")}. The last error: ${lastError}`,
    names: "resources",
    cure: "Is the platform in trouble (kit status)? They catch up by themselves: kit resources show UUID",
    command: "kit status",
    causes: [...OF_CALLS, "tokens_refused", "needs_reauth"],
    runbook: "The platform does not answer",
    noAlert: "`AddonPlatformFails` rings if the platform fails, and `step_stuck` follows the twelfth failure",
  }),
  grant_lost: fact<InState>({
    title: "A grant was lost",
    urgency: "urgent",
    ...ofState("grant_lost"),
    buttons: ["/recover-all"],
    alerts: ["AddonGrantLost", "AddonNeedsAttention"],
    alarms: ["grant_lost"],
  }),
  no_grant: fact<InState>({
    title: "A provision came without a grant",
    urgency: "later",
    ...ofState("no_grant"),
    buttons: ["/recover-all"],
    alerts: ["AddonNeedsAttention"],
    alarms: ["no_grant"],
  }),
  needs_reauth: fact<InState>({
    title: "The platform refuses refresh tokens for good",
    urgency: "urgent",
    ...ofState("needs_reauth"),
    causes: ["database_restored", "restore_suspected"],
    alerts: ["AddonNeedsAttention"],
    alarms: ["needs_reauth"],
  }),
  quarantined: fact<InState>({
    title: "Credentials cannot be decrypted",
    urgency: "urgent",
    ...ofState("quarantined"),
    causes: ["key_missing", "keys_differ"],
    alerts: ["AddonNeedsAttention"],
    alarms: ["quarantined"],
  }),
  no_refresh_token: fact<Count>({
    title: "Access ends with the present token",
    urgency: "urgent",
    says: ({ count }) =>
      `${countedToMost(count, "resource")} without a refresh token: access ends, or has ended, with the present token.`,
    names: "resources",
    cure: "Ask the platform's support. Of each, kit resources show UUID says more.",
    command: "kit resources show UUID",
    runbook: "AddonNeedsAttention",
    alarms: ["no_refresh_token"],
  }),
};
