import type { OpenContext } from "../../context.ts";
import type { YourJob } from "../../database/client/client.ts";
import { databaseClock } from "../../database/clock.ts";
import { messageOf } from "../../errors.ts";
import { functionOf } from "../../resources/step-kinds.ts";
import { within } from "../../within.ts";
import { type Trouble, troubleOfFunctions } from "../store.ts";
import { counted, countedToMost, duration, moment, momentAway } from "../wording.ts";
import { failingNow, fault, type Finding, fine, orFine, warning } from "./finding.ts";

// Whether the vendor's functions, jobs and checks do what they must. What fails or hangs now is a warning at once.

/** Work of a vendor's function fails, or goes on, for so long (seconds) before it is a fault; as in ops/alerts.yml. */
const FAILS_AFTER_SECONDS = 180;
const HANGS_AFTER_SECONDS = 300;
/** A job that is due is begun at once, or by the next sweep; that is late after this. */
export const SWEEPS_LATE_AFTER_SECONDS = 120;

export async function yourService({ db }: OpenContext): Promise<Finding[]> {
  const troubles = await troubleOfFunctions(db);
  const found = troubles.map((each) => {
    const ofFunction = troubles.filter(({ kind }) => kind === each.kind);
    const oldest = Math.max(...ofFunction.map(({ seconds }) => seconds));
    const isFault = oldest > (each.isFailing ? FAILS_AFTER_SECONDS : HANGS_AFTER_SECONDS);
    return (isFault ? fault : failingNow)(inWords(each), YOUR_BACKEND);
  });
  return orFine(found, "Your functions end what they are given.");
}

function inWords({ kind, isFailing, count, seconds, plans, some, lastError }: Trouble): string {
  const how = isFailing
    ? `fails: of ${countedToMost(count, "resource")} the last call failed, the oldest work is late by`
    : `hangs, or is too slow: ${counted(count, "call")} under way, the oldest for`;
  const more = count > some.length ? ` and ${count - some.length} more` : "";
  return [
    `${functionOf(kind)}() ${how} ${duration(seconds)}.`,
    isFailing && `The last error: ${sentence(lastError!)}`,
    `${plans.length === 1 ? "Plan" : "Plans"}: ${plans.join(", ")}.`,
    `${count === 1 ? "Resource" : "Resources"}: ${some.join(", ")}${more}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

const YOUR_BACKEND =
  "Fix your backend; the log has its errors. Then try at once what waits (kit steps retry --all), and cut off what hangs (kit steps cut-off --all). What cannot be done is given up: kit steps give-up UUID. Of each, kit resources show UUID says more.";

const THE_JOBS =
  "The log says more of what failed; docs/operate.md, at job_fails, what to do. A job that is due needs a worker, or WEB_JOBS=on. Times are UTC.";

export async function yourJobs({ db, yourJobs: names }: OpenContext): Promise<Finding[]> {
  if (names.length === 0) return [fine("Your service has no jobs.")];
  const prisma = await db.prisma();
  const nowMs = await databaseClock(db);
  const where = { name: { in: [...names] } };
  const rows = await prisma.yourJob.findMany({ where, orderBy: { name: "asc" } });
  const found = rows.flatMap((row) => faultsOf(row, nowMs));
  const unplanned = names.filter((name) => !rows.some((row) => row.name === name));
  if (unplanned.length > 0)
    found.push(warning(`No process that runs jobs has planned ${unplanned.join(", ")} yet.`, THE_JOBS));
  const next = rows.map(({ name, dueAt }) => `${name} at ${moment(dueAt.toISOString())}`);
  return orFine(found, `The jobs of your service run; next (UTC): ${next.join(", ")}.`);
}

function faultsOf(job: YourJob, nowMs: number): Finding[] {
  const { name, lastError, attempts, failingSince, dueAt, leasedUntil } = job;
  const at = (time: Date) => momentAway(time.toISOString(), nowMs);
  // The lease of one that a killed process ran has ended.
  const isRunning = leasedUntil !== null && leasedUntil.getTime() >= nowMs;
  const isLate = !isRunning && nowMs - dueAt.getTime() > SWEEPS_LATE_AFTER_SECONDS * 1_000;
  const next = isRunning
    ? "It runs again now."
    : isLate
      ? `It is due since ${at(dueAt)}.`
      : `It is tried again at ${at(dueAt)}.`;
  if (lastError === null)
    return isLate ? [fault(`${name} is due since ${at(dueAt)}, and no process runs it.`, THE_JOBS)] : [];
  const since = failingSince ? ` since ${at(failingSince)}` : "";
  // A stop cut it off: the next process begins it again.
  const isCut = attempts === 0 && failingSince !== null;
  const times = attempts > 1 ? ` ${attempts} times` : "";
  const how = isCut ? `has not ended${since}` : `failed${times}${since}`;
  return [(isCut && !isLate ? warning : fault)(`${name} ${how}: ${sentence(lastError)} ${next}`, THE_JOBS)];
}

const sentence = (words: string) => (/[.!?…]$/.test(words) ? words : `${words}.`);

/** The lines of your service's own checks, by id: what each of them says. */
export const yourChecks = ({ vendor: { checks = {} }, scrubber, pace: { checkMs } }: OpenContext) =>
  Object.entries(checks).map(([name, check]) => {
    const look = async (): Promise<Finding> => {
      const late = () => new Error(`It did not end in ${checkMs / 1_000} s.`);
      const said: unknown = await within(checkMs, (async () => check())(), late).catch(messageOf);
      if (said === null) return fine("Your service finds nothing to fix.");
      if (typeof said === "string" && said.trim()) return fault(scrubber.scrub(said), null);
      const what = said === "" ? "an empty text" : `something of type ${typeof said}`;
      return fault(`The check of your service returned ${what}: it must return a sentence, or null.`, null);
    };
    return [`your-${name}`, look] as const;
  });
