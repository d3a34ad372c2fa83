import { randomBytes, randomUUID } from "node:crypto";
import type { OpenContext } from "../../context.ts";
import { isConflict, refusingState } from "../../database/retry.ts";
import { messageOf } from "../../errors.ts";
import { named } from "../../processes/judge.ts";
import { tryWrite } from "../../processes/store.ts";
import { duration, moment } from "../wording.ts";
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
  const isRefused = refused.some(({ fact }) => fact === "writes_refused");
  return orFine(
    [...refused, ...(await refusedWrites(ctx, isRefused))],
    "The database takes what a sale writes.",
  );
}

/** Older ones say nothing of today. */
const RECENT_SECONDS = 24 * 3_600;
/** As long, the cause is presumed to last; while another write is taken, it may be one of that process alone. */
const LASTS_SECONDS = 300;
const LASTS_ALONE_SECONDS = 45;

/** The last write that the database refused to a process. `isRefused`: so was one of just now. */
async function refusedWrites(ctx: OpenContext, isRefused: boolean): Promise<Finding[]> {
  const [last] = (await processesOf(ctx))
    .flatMap((of) => (of.lastRefusedWrite ? [{ of, ...of.lastRefusedWrite }] : []))
    .filter(({ agoSeconds }) => agoSeconds < RECENT_SECONDS)
    .sort((one, other) => one.agoSeconds - other.agoSeconds);
  if (!last) return [];
  const lasts = isRefused ? LASTS_SECONDS : LASTS_ALONE_SECONDS;
  const { of, at, agoSeconds, state, reason } = last;
  const words = `The last write that the database refused, ${duration(agoSeconds)} ago (${moment(at)} UTC) to ${named(of)}: ${state}, ${reason}`;
  return [found("write_refused", { words, state, isRecent: agoSeconds < lasts }, { since: at })];
}
