import { randomBytes, randomUUID } from "node:crypto";
import type { OpenContext } from "../../context.ts";
import { isConflict, refusingState } from "../../database/retry.ts";
import { messageOf } from "../../errors.ts";
import { named } from "../../processes/judge.ts";
import { tryWrite } from "../../processes/store.ts";
import { duration, moment } from "../wording.ts";
import { fault, type Finding, orFine, warning } from "./finding.ts";
import { processesOf } from "./processes.ts";

// Whether the database takes writes: a full disk, a right that is missing and a standby all still answer reads.

/** Some kilobytes that cannot be compressed. */
const TRIAL_BYTES = 24_000;

/** Writes what a sale writes, and removes it. Reports also what was refused to the processes. */
export async function writes(ctx: OpenContext): Promise<Finding[]> {
  const refused = await tryWrite(ctx.db, randomUUID(), randomBytes(TRIAL_BYTES).toString("base64")).then(
    () => [],
    (error: unknown) => {
      if (isConflict(error)) throw error;
      const state = refusingState(error);
      const words = [state, messageOf(error)].filter(Boolean).join(", ");
      return [fault(`The database takes no writes, and each sale is lost: ${words}`, adviceOn(state))];
    },
  );
  return orFine([...refused, ...(await refusedWrites(ctx))], "The database takes what a sale writes.");
}

/** Older ones say nothing of today. */
const RECENT_SECONDS = 24 * 3_600;
/** As long, the cause is presumed to last. */
const LASTS_SECONDS = 300;

/** The last write that the database refused to a process. */
export async function refusedWrites(ctx: OpenContext): Promise<Finding[]> {
  const [last] = (await processesOf(ctx))
    .flatMap((of) => (of.lastRefusedWrite ? [{ of, ...of.lastRefusedWrite }] : []))
    .filter(({ agoSeconds }) => agoSeconds < RECENT_SECONDS)
    .sort((one, other) => one.agoSeconds - other.agoSeconds);
  if (!last) return [];
  const { of, at, agoSeconds, state, reason } = last;
  const message = `The last write that the database refused, ${duration(agoSeconds)} ago (${moment(at)} UTC) to ${named(of)}: ${state}, ${reason}`;
  if (agoSeconds < LASTS_SECONDS) return [fault(message, adviceOn(state))];
  return [warning(message, `If it lasts: ${adviceOn(state)} Which sales were lost: kit lost`)];
}

const ADVICE: readonly [states: RegExp, advice: string][] = [
  [/^(53100|58)/, "Make room on the disk of the database, or repair it; the service continues by itself."],
  [/^53300/, "Let PostgreSQL take more connections, or lower DATABASE_POOL (docs/scale.md)."],
  [/^53/, "Give PostgreSQL more memory, or fewer connections (docs/scale.md)."],
  [/^25006/, "It is a standby, or was made read-only: let DATABASE_URL lead to the primary."],
  [/^42501/, "Grant the right to the role of DATABASE_URL (docs/database.md)."],
  [/^XX/, "Its files are damaged: stop the service, and restore a backup."],
];

const adviceOn = (state: string | null): string =>
  ADVICE.find(([states]) => states.test(state ?? ""))?.[1] ??
  "PostgreSQL's own log says more. Does each commit wait for a standby that is gone?";
