import type { OpenContext } from "../../context.ts";
import type { YourJob } from "../../database/client/client.ts";
import { databaseClock } from "../../database/clock.ts";
import { messageOf } from "../../errors.ts";
import { functionOf } from "../../resources/step-kinds.ts";
import { within } from "../../within.ts";
import { troubleOfFunctions } from "../store.ts";
import { moment, momentAway, sentence } from "../wording.ts";
import { ago, type Finding, fine, found, orFine } from "./finding.ts";

// Whether the vendor's functions, jobs and checks do what they must. What fails or hangs now is a warning at once.

/** Work of a vendor's function fails, or goes on, for so long (seconds) before it is a fault; as in ops/alerts.yml. */
const FAILS_AFTER_SECONDS = 180;
const HANGS_AFTER_SECONDS = 300;
/** A job that is due is begun at once, or by the next sweep; that is late after this. */
export const SWEEPS_LATE_AFTER_SECONDS = 120;

export async function yourService({ db }: OpenContext): Promise<Finding[]> {
  const troubles = await troubleOfFunctions(db);
  const wrong = troubles.map((each) => {
    const { kind, isFailing, count, seconds, plans, lastError, some: uuids } = each;
    const ofFunction = troubles.filter((other) => other.kind === kind);
    const oldest = Math.max(...ofFunction.map((other) => other.seconds));
    const isLong = oldest > (isFailing ? FAILS_AFTER_SECONDS : HANGS_AFTER_SECONDS);
    const name = functionOf(kind);
    const values = { name, count, isLong, lastError, plans };
    const whom = { count, uuids, list: { failing: isFailing ? kind : "hanging" } };
    const since = ago(seconds);
    if (!isFailing) return found("function_hangs", values, { whom, since });
    return found("function_fails", values, { whom, since });
  });
  return orFine(wrong, "Your functions end what they are given.");
}

export async function yourJobs({ db, yourJobs: names }: OpenContext): Promise<Finding[]> {
  if (names.length === 0) return [fine("Your service has no jobs.")];
  const prisma = await db.prisma();
  const nowMs = await databaseClock(db);
  const where = { name: { in: [...names] } };
  const rows = await prisma.yourJob.findMany({ where, orderBy: { name: "asc" } });
  const wrong = rows.flatMap((row) => faultsOf(row, nowMs));
  const unplanned = names.filter((name) => !rows.some((row) => row.name === name));
  if (unplanned.length > 0) wrong.push(found("job_not_planned", { names: unplanned }));
  const next = rows.map(({ name, dueAt }) => `${name} at ${moment(dueAt.toISOString())}`);
  return orFine(wrong, `The jobs of your service run; next (UTC): ${next.join(", ")}.`);
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
      ? `It was due at ${at(dueAt)}.`
      : `It is tried again at ${at(dueAt)}.`;
  if (lastError === null)
    return isLate
      ? [
          found(
            "job_not_run",
            { words: `${name} is due, and no process runs it.` },
            { since: dueAt.toISOString() },
          ),
        ]
      : [];
  // A stop cut it off: the next process begins it again.
  const isCut = attempts === 0 && failingSince !== null;
  const times = attempts > 1 ? ` ${attempts} times` : "";
  const how = isCut ? "has not ended" : `failed${times}`;
  const words = `${name} ${how}: ${sentence(lastError)} ${next}`;
  const about = failingSince ? { since: failingSince.toISOString() } : {};
  return [found("job_fails", { words, isCut: isCut && !isLate }, about)];
}

/** The lines of your service's own checks, by id: what each of them says. */
export const yourChecks = ({ vendor: { checks = {} }, scrubber, pace: { checkMs } }: OpenContext) =>
  Object.entries(checks).map(([name, check]) => {
    const look = async (): Promise<Finding> => {
      const late = () => new Error(`It did not end in ${checkMs / 1_000} s.`);
      const said: unknown = await within(checkMs, (async () => check())(), late).catch(messageOf);
      if (said === null) return fine("Your service finds nothing to fix.");
      if (typeof said === "string" && said.trim())
        return found("your_check", { words: scrubber.scrub(said) });
      const what = said === "" ? "an empty text" : `something of type ${typeof said}`;
      const words = `The check of your service returned ${what}: it must return a sentence, or null.`;
      return found("your_check", { words });
    };
    return [`your-${name}`, look] as const;
  });
