import { samplesOf as of, type Sample } from "../../metrics/metrics.ts";
import { marksByKind } from "../../ledgers/store.ts";
import { databaseClock } from "../../metrics/store.ts";
import type { OpenContext } from "../../context.ts";
import { lostInShort, TO_DO } from "../lost-sales.ts";
import { adviceOn, counted, countedToMost, duration, moment } from "../wording.ts";
import { failingTokens, stuckSteps, unrefreshable } from "../store.ts";
import { fault, fine, orFine, warning, type Finding } from "./finding.ts";

// Whether what must happen does. `kit doctor` and the operator's overview say the same of it.

/** By default a sweep runs every 15 seconds (SWEEP_CRON). */
const SWEEPS_LATE_AFTER_SECONDS = 120;
/** A grant is normally exchanged within seconds of its arrival. */
const GRANT_LATE_AFTER_SECONDS = 30;
const REFRESHES_LATE_AFTER_SECONDS = 300;
/** If a token expires sooner than this, its late refresh is a fault. */
const LAST_HOUR_SECONDS = 3_600;
/** A token falls due in the middle of its eight hours, so it has an hour left. */
const REFRESHES_URGENT_AFTER_SECONDS = 3 * 3_600;
/** Work of a vendor's function fails, or goes on, for so long (seconds) before it is a fault; as in ops/alerts.yml. */
const FAILS_AFTER_SECONDS = 180;
const HANGS_AFTER_SECONDS = 300;

export type Measured = () => Promise<readonly Sample[]>;

async function sweeps({ config }: OpenContext, measured: Measured): Promise<Finding[]> {
  const all = of(await measured(), "addon_sweep_age_seconds");
  const start = "Start the web process with WEB_JOBS=on, or a worker beside it.";
  if (all.length === 0) return [fault("No sweep has ever run: nothing is exchanged or refreshed.", start)];
  const late = all.filter(({ value }) => value > SWEEPS_LATE_AFTER_SECONDS);
  if (late.length === 0) return [fine("The sweeps run.")];
  const names = late.map(({ labels, value }) => `${labels["sweep"]} (${duration(value)} ago)`).join(", ");
  return [
    fault(
      `Late sweeps, last ended or first expected: ${names}.`,
      `${start} Is one running? Its log says what fails. (SWEEP_CRON is "${config.sweepCron}".)`,
    ),
  ];
}

async function yourJobs({ db, vendor: { jobs = [] } }: OpenContext): Promise<Finding[]> {
  if (jobs.length === 0) return [fine("Your service has no jobs.")];
  const prisma = await db.prisma();
  const nowMs = await databaseClock(db);
  const late = nowMs - SWEEPS_LATE_AFTER_SECONDS * 1_000;
  const names = jobs.map(({ name }) => name);
  const rows = await prisma.yourJob.findMany({ where: { name: { in: names } }, orderBy: { name: "asc" } });
  const fix = "The log says more of what failed. A job that is due needs a worker, or WEB_JOBS=on.";
  const found = rows.flatMap(({ name, lastError, dueAt, leasedUntil }) => {
    const due = dueAt.toISOString();
    // The lease of one that a killed process ran has ended.
    const isRunning = leasedUntil !== null && leasedUntil.getTime() >= nowMs;
    const when = isRunning ? "runs again" : `is tried again at ${due}`;
    if (lastError !== null) return [fault(`${name} failed: ${lastError} It ${when}.`, fix)];
    return !isRunning && dueAt.getTime() < late ? [fault(`${name} is due since ${due}.`, fix)] : [];
  });
  const next = rows.map(({ name, dueAt }) => `${name} at ${moment(dueAt.toISOString())}`);
  return orFine(found, `The jobs of your service run; next (UTC): ${next.join(", ") || "not planned yet"}.`);
}

const CATCH_UP =
  "First fix what else is found, above all of the database and the client secret. If that is nothing, look at the platform: kit status";

export async function tokens({ db }: OpenContext, measured: Measured): Promise<Finding[]> {
  const samples = await measured();
  const found: Finding[] = [];
  const add = (isUrgent: boolean, message: string) =>
    found.push(
      isUrgent ? fault(message, CATCH_UP) : warning(message, `${CATCH_UP}. They catch up by themselves.`),
    );
  const [grant] = of(samples, "addon_grant_age_seconds");
  if (grant && grant.value > GRANT_LATE_AFTER_SECONDS)
    add(true, `A grant waits for its exchange since ${duration(grant.value)}, and has five minutes.`);
  const refreshes = of(samples, "addon_due_age_seconds").find(
    ({ labels }) => labels["queue"] === "refreshes",
  );
  if (refreshes && refreshes.value > REFRESHES_LATE_AFTER_SECONDS)
    add(
      refreshes.value > REFRESHES_URGENT_AFTER_SECONDS,
      `Refreshes are late by ${duration(refreshes.value)}.`,
    );
  const { count, leftSeconds, lastError } = await failingTokens(db);
  if (count > 0) {
    const end = leftSeconds > 0 ? `ends in ${duration(leftSeconds)}` : "has ended";
    const message = `The refresh of ${countedToMost(count, "token")} fails, the first ${end}. The last try: ${lastError}`;
    add(leftSeconds < LAST_HOUR_SECONDS, message);
  }
  return orFine(found, "Grants are exchanged and tokens refreshed in time.");
}

async function yourService(_ctx: OpenContext, measured: Measured): Promise<Finding[]> {
  const samples = await measured();
  const found = of(samples, "addon_your_service_oldest_seconds").flatMap(({ labels, value: seconds }) => {
    const valueOf = (name: string) =>
      of(samples, name).find((each) => each.labels["function"] === labels["function"])?.value ?? 0;
    const failing = valueOf("addon_your_service_failing");
    const underWay = valueOf("addon_your_service_under_way");
    const isFailing = failing > 0 && seconds > FAILS_AFTER_SECONDS;
    if (!isFailing && (underWay === 0 || seconds <= HANGS_AFTER_SECONDS)) return [];
    const how = isFailing
      ? `fails: of ${countedToMost(failing, "resource")} the last call failed`
      : `hangs, or is too slow: ${counted(underWay, "call")} under way`;
    const message = `${labels["function"]}() ${how}, the oldest work is late by ${duration(seconds)}.`;
    return [fault(message, YOUR_BACKEND)];
  });
  return orFine(found, "Your functions end what they are given.");
}

const YOUR_BACKEND =
  "Fix your backend; the log has its errors. Then try at once what waits (kit steps retry --all), and cut off what hangs (kit steps cut-off --all). What cannot be done is given up: kit steps give-up UUID";

export async function steps({ db }: OpenContext): Promise<Finding[]> {
  const { count, kinds, some } = await stuckSteps(db);
  if (count === 0) return [fine("No put-off work is stuck.")];
  const message = `${countedToMost(count, "step")} failed again and again, or still went on after 11 hours: ${kinds.join(", ")}.`;
  const fix = "Read what came of the last try, and fix it; the next follows by itself";
  return [fault(message, `${fix}: ${shown(some)}`)];
}

const shown = (uuids: readonly string[]) => uuids.map((uuid) => `kit resources show ${uuid}`).join(" · ");

export async function attention({ config, db }: OpenContext, measured: Measured): Promise<Finding[]> {
  const found = of(await measured(), "addon_credentials_needing_attention").map(({ labels, value }) => {
    const { state, reason } = labels as { state: string; reason: string };
    const { what, todo } = adviceOn(state, reason)!;
    const canRecover = config.legacyGrants && (state === "grant_lost" || state === "no_grant");
    const message = `${countedToMost(value, "resource")} ${state}${reason && ` (${reason})`}: ${what}`;
    const fix = canRecover ? "Recover what was lost: kit grants recover --all" : todo;
    const as = state === "no_grant" ? warning : fault;
    return as(message, `${fix} · kit resources list --state ${state}`);
  });
  const { count, some } = await unrefreshable(db);
  if (count > 0) {
    const message = `${countedToMost(count, "resource")} without a refresh token: access ends, or has ended, with the token there is.`;
    found.push(fault(message, `Ask the platform's support. Some of them: ${shown(some)}`));
  }
  return orFine(found, "No resource needs attention.");
}

async function lost({ db }: OpenContext): Promise<Finding[]> {
  const sentence = await lostInShort(db);
  if (sentence === null) return [fine("No lost sale is open.")];
  return [
    warning(
      sentence,
      `${TO_DO} Then tick them off: kit lost, or "Tick off lost sales" of the operator's pages`,
    ),
  ];
}

/** In a day; more are a mistake of somebody's rather than so many customers' ends. */
const FEW_GONE = 10;
const IS_WAVE =
  "So many at once are rarely true: is ADDON_ID right, was the platform, or our database, restored? Nothing was given up.";

/** What the service noticed by itself; `kit reconcile` compares everything. */
async function ledgers({ db }: OpenContext): Promise<Finding[]> {
  const found = (await marksByKind(db)).flatMap(({ kind, count, living, since, uuids }) => {
    const from = moment(since.toISOString());
    if (kind === "gone_at_platform") {
      const message = `${countedToMost(count, "resource")} gone at the platform, noticed since ${from} (UTC); here nothing was changed but that refreshes pause.`;
      const wave = count > FEW_GONE ? `${IS_WAVE} ` : "";
      return fault(
        message,
        `${wave}Compare: kit reconcile. Then: kit resources erase UUID, or kit reconcile --fix gone_at_platform. Some: ${shown(uuids)}`,
      );
    }
    const message = `The platform asked about ${countedToMost(count, "resource")} never provisioned here, since ${from} (UTC); it has not ended ${living} of them, so a customer may pay. The first: ${uuids.join(" · ")}`;
    const todo =
      "Take over what lives: kit resources import, then kit grants recover. Drop a uuid from this list: kit resources erase UUID";
    return living > 0
      ? fault(message, todo)
      : warning(
          message,
          "If your backend has one of them, take it down there: kit reconcile. They leave this list a week later.",
        );
  });
  return orFine(found, "No difference between the platform's ledger and ours was noticed.");
}

export const OF_WORK = {
  ...{ sweeps, "your-service": yourService, "your-jobs": yourJobs },
  ...{ tokens, steps, attention, ledgers, lost },
} satisfies Record<string, (ctx: OpenContext, measured: Measured) => Promise<Finding[]>>;
