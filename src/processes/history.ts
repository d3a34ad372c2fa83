import { counted } from "../amounts.ts";
import { isTransient } from "../database/retry.ts";
import type { Queryable } from "../database/statement.ts";
import { KitError, messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import {
  beginHistory,
  type History,
  readHistory,
  readTimeline,
  type Sign,
  type Timeline,
  writePromotion,
  writeRestore,
} from "./history-store.ts";

// Whether the database is still the one that it was. A backup that is restored has the truth of its day: yesterday's
// config vars, pushed today, give customers credentials that were retired since. So a restore begins a hold, which
// an operator ends. Rows that came with the backup wait: all rotations, and all steps but those that only look. So do
// pushes of config vars to customers from before it. What comes in from then on is done.

interface Needs {
  db: Queryable;
  log: Log;
}

/** One beat may be lost with a standby that is a moment behind. */
const MOST_BEATS_LOST = 1;
/** A promotion takes less. A start finds no process that remembers more than the database. */
const QUIET_SECONDS = 600;

/** By how many beats its row is behind what a process remembers; null: it has just started, and remembers nothing. */
export type BeatsLost = number | null;

/**
 * Compares the database with what it was: begins the hold after a restore, and reports a promoted standby. To be called
 * before a process writes, and then at each beat.
 */
export async function noticeRestore({ db, log }: Needs, beatsLost: BeatsLost): Promise<void> {
  const now = await readTimeline(db).catch((error: unknown): Timeline => {
    if (isTransient(error)) throw error;
    log.debug({ reason: messageOf(error) }, "This PostgreSQL does not say on which timeline it runs");
    return { timeline: null, hasTarget: false };
  });
  const { timeline } = now;
  const seen = await readHistory(db);
  if (!seen) return void (await beginHistory(db, timeline));
  const sign = signOf(seen, now, beatsLost);
  if (sign) {
    const because = inWords(sign, seen, now, beatsLost);
    if (await writeRestore(db, sign, timeline, because))
      log.error(
        { alarm: "database_restored", because },
        "The database was restored; rotations and pushes of config vars are held: kit after-restore",
      );
  } else if (timeline !== null && isOther(seen, timeline)) {
    if (await writePromotion(db, timeline))
      log.warn(
        { timeline, before: seen.timeline },
        "A standby of the database was promoted (failover); what it had not yet received is lost: kit reconcile",
      );
  }
}

const isOther = (seen: History, timeline: number | null) =>
  timeline !== null && seen.timeline !== null && timeline !== seen.timeline;

function signOf(seen: History, { timeline, hasTarget }: Timeline, beatsLost: BeatsLost): Sign | null {
  if (seen.isLoaded) return "loaded";
  if ((beatsLost ?? 0) > MOST_BEATS_LOST) return "beats";
  if (!isOther(seen, timeline)) return null;
  // PostgreSQL does not let a standby be promoted that has not reached such a target.
  const isQuiet = beatsLost === null && (seen.quietSeconds ?? 0) > QUIET_SECONDS;
  return hasTarget || isQuiet ? "timeline" : null;
}

function inWords(
  sign: Sign,
  { quietSeconds }: History,
  { hasTarget }: Timeline,
  beatsLost: BeatsLost,
): string {
  if (sign === "loaded") return "its rows were loaded from a dump";
  if (sign === "beats") return `it lacks the last ${counted(beatsLost ?? 0, "beat")} of a process that runs`;
  if (hasTarget) return "it was recovered to a point in time";
  const minutes = Math.round((quietSeconds ?? 0) / 60);
  return `it is on another timeline, and its newest row of a process is ${counted(minutes, "minute")} old`;
}

/** An operator says that the database was restored. */
export async function reportRestore(db: Queryable): Promise<void> {
  await beginHistory(db, null);
  const sign = (await readHistory(db))?.isLoaded ? "loaded" : "told";
  await writeRestore(
    db,
    sign,
    null,
    sign === "told" ? "an operator said so" : "its rows were loaded from a dump",
  );
}

export const HOLDS =
  "Rotations, and pushes of config vars to customers from before, are held, and so are steps that came with the backup";

/** Whether what the database has of config vars and credentials may be older than what customers use. */
export async function isHeld(db: Queryable): Promise<boolean> {
  const seen = await readHistory(db);
  return seen !== null && (seen.isHeld || seen.isLoaded);
}

/** Throws `held` while that is so. */
export async function refuseWhileHeld(db: Queryable): Promise<void> {
  if (await isHeld(db))
    throw new KitError(
      "held",
      "Nothing was changed: the database was restored, so what it has may be older than what the apps use. What to do: kit after-restore.",
    );
}
