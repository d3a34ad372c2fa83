import type { Sample } from "../../metrics/store.ts";
import type { OpenContext } from "../../open-context.ts";
import { FAILING, failingSteps, grantsLate, refreshesLate, unrefreshable, type Late } from "../store.ts";
import { counted, countedToMost, duration, moment } from "../wording.ts";
import { fault, fine, warning, type Finding } from "./finding.ts";

// Whether what must happen does: jobs, grants, refreshes, put-off steps, and who waits for an operator.

/** By default a sweep runs every 15 seconds (SWEEP_CRON). */
const SWEEPS_LATE_AFTER_SECONDS = 120;
/** If a token expires sooner than this, its late refresh is a fault. */
const LAST_HOUR_SECONDS = 3600;

/** What the metrics say of the work. */
export type Measured = () => Promise<readonly Sample[]>;

/** The samples of a metric. */
const of = (samples: readonly Sample[], name: string) => samples.filter(({ sample }) => sample === name);

/** Whether the jobs of this build run. */
export async function sweeps({ config }: OpenContext, measured: Measured): Promise<Finding> {
  const all = of(await measured(), "addon_sweep_age_seconds");
  const start = "Start the web process with WEB_JOBS=on, or a worker beside it.";
  if (all.length === 0) return fault("No sweep has ever run: nothing is exchanged or refreshed.", start);
  const late = all.filter(({ value }) => value > SWEEPS_LATE_AFTER_SECONDS);
  const most = Math.round(Math.max(...all.map(({ value }) => value)));
  if (late.length === 0) return fine(`The sweeps last ended, or were first expected, ${most} s ago or less.`);
  const names = late.map(({ labels, value }) => `${labels["sweep"]} (${duration(value)} ago)`).join(", ");
  return fault(
    `Late sweeps, last ended or first expected: ${names}.`,
    `${start} Is one running? Its log says what fails. (SWEEP_CRON is "${config.sweepCron}".)`,
  );
}

/** Whether the jobs of your service are run in time, and did not fail when they were run last; and when each is next. */
export async function yourJobs({ db, vendor }: OpenContext): Promise<Finding> {
  const prisma = await db.prisma();
  const late = Date.now() - SWEEPS_LATE_AFTER_SECONDS * 1_000;
  const names = (vendor.jobs ?? []).map(({ name }) => name);
  const jobs = await prisma.yourJob.findMany({ where: { name: { in: names } }, orderBy: { name: "asc" } });
  const said = jobs.flatMap(({ name, lastError, dueAt, leasedUntil }) => {
    if (lastError !== null)
      return [`${name} failed: ${lastError} It is tried again at ${dueAt.toISOString()}.`];
    return leasedUntil === null && dueAt.getTime() < late
      ? [`${name} is due since ${dueAt.toISOString()}.`]
      : [];
  });
  const next = jobs.map(({ name, dueAt }) => `${name} at ${moment(dueAt.toISOString())}`);
  if (said.length === 0)
    return fine(`The jobs of your service run; next (UTC): ${next.join(", ") || "not planned yet"}.`);
  return fault(
    said.join(" "),
    "The log says more of what failed. A job that is due needs a worker, or WEB_JOBS=on.",
  );
}

/** Whether grants are exchanged and tokens refreshed in time. */
export async function tokens(ctx: OpenContext): Promise<Finding> {
  const late = (await lateGrants(ctx)) ?? (await lateRefreshes(ctx));
  return late ?? fine("Grants are exchanged and tokens refreshed in time.");
}

const CATCH_UP = "Fix what the other checks find; else the platform is in trouble: kit status";
const answerOf = ({ lastError }: Late) =>
  lastError === null ? "None was tried." : `The last try: ${lastError}`;

/** Grants that are not exchanged in time; null if there are none. */
export async function lateGrants({ db }: OpenContext): Promise<Finding | null> {
  const late = await grantsLate(db);
  if (late.count === 0) return null;
  const left =
    late.leftSeconds > 0 ? `the first is lost in ${duration(late.leftSeconds)}` : "the first is over";
  return fault(`Not exchanged: ${counted(late.count, "grant")}, ${left}. ${answerOf(late)}`, CATCH_UP);
}

/** Tokens that wait for a refresh; null if none is late. A fault once the first of them expires within an hour. */
export async function lateRefreshes({ db }: OpenContext): Promise<Finding | null> {
  const late = await refreshesLate(db);
  const { count, leftSeconds } = late;
  if (count === 0) return null;
  const ends = leftSeconds > 0 ? `ends in ${duration(leftSeconds)}` : `ended ${duration(-leftSeconds)} ago`;
  const message = `Waiting for a refresh: ${countedToMost(count, "token")}, the first ${ends}. ${answerOf(late)}`;
  return leftSeconds < LAST_HOUR_SECONDS
    ? fault(message, CATCH_UP)
    : warning(message, `${CATCH_UP}. They catch up by themselves.`);
}

/** Work of a vendor's function fails, or goes on, for so long (seconds) before it is a fault; as in ops/alerts.yml. */
const FAILS_AFTER_SECONDS = 180;
const HANGS_AFTER_SECONDS = 300;

/** Whether the vendor's functions end what they are given. */
export async function yourService(measured: Measured): Promise<Finding> {
  const samples = await measured();
  const said = of(samples, "addon_your_service_oldest_seconds").flatMap(({ labels, value: seconds }) => {
    const valueOf = (name: string) =>
      of(samples, name).find((each) => each.labels["function"] === labels["function"])?.value ?? 0;
    const failing = valueOf("addon_your_service_failing");
    const underWay = valueOf("addon_your_service_under_way");
    const name = `${labels["function"]}()`;
    const since = `the oldest work is late by ${duration(seconds)}`;
    if (failing > 0 && seconds > FAILS_AFTER_SECONDS)
      return [`${name} fails: of ${countedToMost(failing, "resource")} the last call failed, ${since}.`];
    if (underWay > 0 && seconds > HANGS_AFTER_SECONDS)
      return [`${name} hangs, or is too slow: ${counted(underWay, "call")} under way, ${since}.`];
    return [];
  });
  if (said.length === 0) return fine("Your functions end what they are given.");
  return fault(said.join(" "), YOUR_BACKEND);
}

const YOUR_BACKEND =
  "Fix your backend; the log has its errors. Then try at once what waits (kit steps retry --all), and cut off what hangs (kit steps cut-off --all). What cannot be done is given up: kit steps give-up UUID";

/** Put-off steps that keep failing or never end: a fault once their alarm has been logged, before that a warning. */
export async function steps({ db }: OpenContext): Promise<Finding> {
  const { count, kinds, isAlarm, someUuids } = await failingSteps(db);
  if (count === 0) return fine("All put-off work comes to its end.");
  const message = `${countedToMost(count, "step")} ${FAILING}: ${kinds.join(", ")}.`;
  const shown = someUuids.map((uuid) => `kit resources show ${uuid}`).join(" · ");
  const fix = `Read what came of the last try, and fix it; the next follows by itself: ${shown}`;
  return isAlarm ? fault(message, fix) : warning(message, fix);
}

/** Resources whose credential needs a person. */
export async function attention(ctx: OpenContext, measured: Measured): Promise<Finding> {
  const found = of(await measured(), "addon_credentials_needing_attention");
  const ending = await unrefreshable(ctx.db);
  const byState: Record<string, number> = {};
  for (const { labels, value } of found) byState[labels["state"]!] = (byState[labels["state"]!] ?? 0) + value;
  const states = Object.keys(byState);
  if (states.length === 0 && !ending) return fine("No resource needs attention.");
  const counts = states.map((state) => `${countedToMost(byState[state]!, "resource")} ${state}`);
  if (ending) counts.push(`${countedToMost(ending.count, "resource")} without a refresh token`);
  const commands = [
    ...states.map((state) => `kit resources list --state ${state}`),
    ...(ending?.some ?? []).map((uuid) => `kit resources show ${uuid}`),
  ];
  const isRecoverable =
    ctx.config.legacyGrants && (states.includes("grant_lost") || states.includes("no_grant"));
  const recover = isRecoverable ? ". Their grants: kit grants recover --all" : "";
  const isHarmless = !ending && states.every((state) => state === "no_grant");
  return (isHarmless ? warning : fault)(
    `${counts.join(", ")}.`,
    `See them: ${commands.join(" · ")}${recover}`,
  );
}
