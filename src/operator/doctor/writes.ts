import { randomBytes, randomUUID } from "node:crypto";
import type { OpenContext } from "../../context.ts";
import { isConflict, refusingState } from "../../database/retry.ts";
import { messageOf } from "../../errors.ts";
import { named } from "../../processes/judge.ts";
import { type Process, tryWrite } from "../../processes/store.ts";
import { moment } from "../wording.ts";
import { type Finding, found, orFine } from "./finding.ts";
import { processesOf } from "./processes.ts";

// Whether the database takes writes: a full disk, a right that is missing and a standby all still answer reads.

/** Some kilobytes that cannot be compressed. */
const TRIAL_BYTES = 24_000;

/** A trial takes some milliseconds: eight statements and a commit. */
const SLOW_MS = 2_500;
const VERY_SLOW_MS = 6_000;

/** Writes what a sale writes, and removes it. Reports also what was refused to the processes. */
export async function writes(ctx: OpenContext): Promise<Finding[]> {
  const begunMs = performance.now();
  const refused = await tryWrite(ctx.db, randomUUID(), randomBytes(TRIAL_BYTES).toString("base64")).then(
    () => {
      const ms = performance.now() - begunMs;
      return ms < SLOW_MS ? [] : [found("writes_slow", { ms, isVery: ms > VERY_SLOW_MS })];
    },
    (error: unknown) => {
      if (isConflict(error)) throw error;
      const state = refusingState(error);
      const words = [state, messageOf(error)].filter(Boolean).join(", ");
      return [found("writes_refused", { words, state })];
    },
  );
  const all = await processesOf(ctx);
  const isRefused = refused.some(({ fact }) => fact === "writes_refused");
  const since = isRefused ? refusedSince(all) : undefined;
  return orFine(
    [...refused.map((each) => (since ? { ...each, since } : each)), ...refusedWrites(all, isRefused)],
    "The database takes what a sale writes.",
  );
}

/** Since when a database takes no writes that still answers reads, as far as it can be known. */
export async function writesTakenUntil(ctx: OpenContext): Promise<{ since?: string }> {
  const since = refusedSince(await processesOf(ctx).catch(() => []));
  return since === undefined ? {} : { since };
}

/** Of two beats one must have been stored. */
const TWO_BEATS_SECONDS = 20;

/** Since when writes are refused: to a process, as it has stored; or since the last beat, which is a write itself. */
function refusedSince(all: readonly Process[]): string | undefined {
  const refused = all.flatMap(({ lastRefusedWrite: last }) =>
    last?.since && last.agoSeconds < LASTS_SECONDS ? [last.since] : [],
  );
  const [last] = all.toSorted((one, other) => one.beatSeconds - other.beatSeconds);
  const silent = last && last.beatSeconds > TWO_BEATS_SECONDS ? [last.lastBeatAt] : [];
  return [...refused, ...silent].sort()[0];
}

/** Older ones say nothing of today. */
const RECENT_SECONDS = 24 * 3_600;
/** As long, the cause is presumed to last; while another write is taken, it may be one of that process alone. */
const LASTS_SECONDS = 300;
const LASTS_ALONE_SECONDS = 45;

/** The last write that the database refused to a process. `isRefused`: so was one of just now. */
function refusedWrites(all: readonly Process[], isRefused: boolean): Finding[] {
  const [last] = all
    .flatMap((of) => (of.lastRefusedWrite ? [{ of, ...of.lastRefusedWrite }] : []))
    .filter(({ agoSeconds }) => agoSeconds < RECENT_SECONDS)
    .sort((one, other) => one.agoSeconds - other.agoSeconds);
  if (!last) return [];
  const lasts = isRefused ? LASTS_SECONDS : LASTS_ALONE_SECONDS;
  const { of, at, since, agoSeconds, state, reason } = last;
  const isOne = since === null || moment(since) === moment(at);
  const what = isOne ? `a write of ${named(of)}` : `writes of ${named(of)}, the last at ${moment(at)} (UTC)`;
  const words = `The database refused ${what}: ${state}, ${reason}`;
  return [found("write_refused", { words, state, isRecent: agoSeconds < lasts }, { since: since ?? at })];
}
