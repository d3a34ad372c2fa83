import type { OpenContext } from "../../open-context.ts";
import { lostProvisions } from "../../resources/end-store.ts";
import { FAILING, failingSteps } from "../store.ts";
import { counted, duration } from "../wording.ts";
import { countedToMost, fault, fine, warning, type Finding } from "./finding.ts";
import * as store from "./store.ts";

// Whether what must happen does: jobs, grants, refreshes, put-off steps, and who waits for an operator.

/** By default a sweep runs every 15 seconds (SWEEP_CRON). */
const SWEEPS_LATE_AFTER_SECONDS = 120;
/** If a token expires sooner than this, its late refresh is a fault. */
const LAST_HOUR_SECONDS = 3600;

/**
 * Whether the jobs run. Only the jobs of this build count: no process updates the heartbeat of a job that an older or
 * newer build has under another name.
 */
export async function sweeps({ db, config, jobs }: OpenContext): Promise<Finding> {
  const beats = await store.heartbeats(db, jobs.names);
  const start = "Start the web process with WEB_JOBS=on, or a worker beside it.";
  if (beats.length === 0) return fault("No sweep has ever run: nothing is exchanged or refreshed.", start);
  const late = beats.filter(({ age }) => age > SWEEPS_LATE_AFTER_SECONDS);
  if (late.length === 0)
    return fine(`The sweeps last ended, or were first expected, ${Math.round(beats[0]!.age)} s ago or less.`);
  const names = late.map(({ name, age }) => `${name} (${duration(age)} ago)`).join(", ");
  return fault(
    `Late sweeps, last ended or first expected: ${names}.`,
    `${start} Is one running? Its log says what fails. (SWEEP_CRON is "${config.sweepCron}".)`,
  );
}

/** Whether grants are exchanged and tokens refreshed in time. */
export async function tokens(ctx: OpenContext): Promise<Finding> {
  const late = (await lateGrants(ctx)) ?? (await lateRefreshes(ctx));
  return late ?? fine("Grants are exchanged and tokens refreshed in time.");
}

/** Grants that are not exchanged in time; null if there are none. */
export async function lateGrants({ db }: OpenContext): Promise<Finding | null> {
  const late = await store.lateGrants(db);
  if (late.count === 0) return null;
  const left =
    late.leftSeconds > 0 ? `the first is lost in ${duration(late.leftSeconds)}` : "the first is over";
  return fault(
    `${counted(late.count, "grant")} ${late.count === 1 ? "is" : "are"} not exchanged: ${left}. ${answerOf(late)}`,
    "Fix what the other checks find; else the platform is in trouble: kit status",
  );
}

/** Tokens that wait for a refresh; null if none is late. A fault once the first of them expires within an hour. */
export async function lateRefreshes({ db }: OpenContext): Promise<Finding | null> {
  const late = await store.lateRefreshes(db);
  if (late.count === 0) return null;
  const { count, leftSeconds } = late;
  const ends = leftSeconds > 0 ? `ends in ${duration(leftSeconds)}` : `ended ${duration(-leftSeconds)} ago`;
  const message = `${countedToMost(count, "token")} ${count === 1 ? "waits" : "wait"} for a refresh: the first ${ends}. ${answerOf(late)}`;
  const fix =
    "Fix what the other checks find; else the platform is in trouble (kit status). They catch up by themselves.";
  return leftSeconds < LAST_HOUR_SECONDS ? fault(message, fix) : warning(message, fix);
}

function answerOf({ lastError }: store.Late): string {
  return lastError === null ? "None was tried." : `The last try: ${lastError}`;
}

/** Put-off steps that keep failing or never end: a fault once their alarm has been logged, before that a warning. */
export async function steps({ db }: OpenContext): Promise<Finding> {
  const { count, kinds, isAlarm, someUuids } = await failingSteps(db);
  if (count === 0) return fine("All put-off work comes to its end.");
  const message = `${counted(count, "step")} ${FAILING}: ${kinds.join(", ")}.`;
  const shown = someUuids.map((uuid) => `kit resources show ${uuid}`).join(" · ");
  const fix = `Read what came of the last try, and fix it; the next follows by itself: ${shown}`;
  return isAlarm ? fault(message, fix) : warning(message, fix);
}

/** Provisions that were answered with an error of ours. */
export async function lost({ db }: OpenContext): Promise<Finding> {
  const { length } = await lostProvisions(db);
  if (length === 0) return fine("No provision was lost within 30 days.");
  return warning(
    `${counted(length, "provision")} ${length === 1 ? "was" : "were"} lost within 30 days.`,
    "Their customers have no add-on, and may not know why: write to them, or to the platform's support. See them: kit resources lost",
  );
}

/** Resources whose credential needs a person. */
export async function attention({ db, config }: OpenContext): Promise<Finding> {
  const found = await store.needingAttention(db);
  const ending = await store.unrefreshable(db);
  if (found.length === 0 && !ending) return fine("No resource needs attention.");
  const counts = found.map(({ state, count }) => `${countedToMost(count, "resource")} ${state}`);
  if (ending) counts.push(`${countedToMost(ending.count, "resource")} without a refresh token`);
  const commands = [
    ...found.map(({ state }) => `kit resources list --state ${state}`),
    ...(ending?.some ?? []).map((uuid) => `kit resources show ${uuid}`),
  ];
  const isRecoverable = found.some(({ state }) => state === "grant_lost" || state === "no_grant");
  const recover = isRecoverable && config.legacyGrants ? ". Their grants: kit grants recover --all" : "";
  const fix = `See them: ${commands.join(" · ")}${recover}`;
  const isHarmless = !ending && found.every(({ state }) => state === "no_grant");
  return (isHarmless ? warning : fault)(`${counts.join(", ")}.`, fix);
}
