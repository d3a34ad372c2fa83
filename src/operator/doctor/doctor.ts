import type { Config } from "../../config.ts";
import type { OpenContext } from "../../context.ts";
import { isConflict, isDatabaseUnreachable } from "../../database/retry.ts";
import { messageOf } from "../../errors.ts";
import { stateOfWork } from "../../metrics/store.ts";
import { PACE } from "../../pace.ts";
import { sharedFor } from "../../within.ts";
import { type Check, type Finding, fine, found, joined, levelOf, withCauses, withNames } from "./finding.ts";
import {
  database,
  keys,
  manifest,
  migrations,
  notice,
  options,
  plans,
  settings,
  version,
} from "./installation.ts";
import { platform, platformStatus, secret, signIn } from "./platform.ts";
import { clocks, password, processes } from "./processes.ts";
import { restore } from "./restore.ts";
import { type Measured, OF_WORK } from "./work.ts";
import { writes } from "./writes.ts";
import { yourChecks } from "./your-service.ts";

type Found = Finding | Finding[];
type Look = (ctx: OpenContext, measured: Measured) => Promise<Found> | Found;
type Looks = Readonly<Record<string, Look>>;

const OF_THE_DATABASE: Looks = { database, migrations };
/** These are made at once, those of a row one after the other: on a slow database each takes as long as its statements. */
const BESIDE_EACH_OTHER: readonly Looks[] = [
  { restore, writes, keys, notice },
  // The clocks after the client secret, whose trial brings the platform's time.
  { secret, password, plans, options, clocks, processes },
  ...OF_WORK,
];
/** Without these, those that follow make no sense. */
const NEEDED = ["settings", "start", "database", "migrations"];
const OTHERS: Looks = {
  platform,
  "sign-in": signIn,
  status: platformStatus,
  manifest: () => manifest(),
  version: () => version(),
};

/** Makes a check, or gives what it found a moment ago. */
export type Making = (id: string, look: () => Promise<Found>) => Promise<Found>;

/** Works when settings are wrong, keys are missing or the database is unreachable. It changes nothing. */
export async function examine(needs: {
  /** Throws `Misconfigured` with all faults of the settings. */
  readSettings(): Config;
  open(config: Config): Promise<OpenContext>;
  making?: Making;
}): Promise<DoctorReport> {
  const { making = (_id, look) => look() } = needs;
  /** `missing`: what failed without which other checks make no sense. */
  const state: { missing?: string; ctx?: OpenContext } = {};
  async function check(id: string, look: () => Promise<Found> | Found): Promise<Check> {
    const made = state.missing ? notChecked(id, state.missing) : await run(id, look);
    if (!made.ok && NEEDED.includes(id)) state.missing ??= id;
    return made;
  }
  const checks = [await check("settings", () => settings(needs.readSettings()))];
  const opened = async () => (state.ctx ??= await needs.open(needs.readSettings()));
  const start = async () => (await opened(), fine("The service can be started with these settings."));
  checks.push(await check("start", start));
  const measured = sharedFor(PACE.freshMs, async () => {
    const { db, jobs, yourJobs } = await opened();
    return stateOfWork(db, jobs.names, yourJobs);
  });
  const made = ([id, look]: [string, Look]) =>
    check(id, async () => {
      const ctx = await opened();
      return making(id, async () => look(ctx, measured));
    });
  // The database's first; then the others at once: if the platform hangs, its time limit passes once.
  const inTurn = async (looks: Looks): Promise<Check[]> => {
    const done: Check[] = [];
    for (const each of Object.entries(looks)) done.push(await made(each));
    return done;
  };
  checks.push(...(await inTurn(OF_THE_DATABASE)));
  checks.push(...(await Promise.all(BESIDE_EACH_OTHER.map(inTurn))).flat());
  if (state.ctx) delete state.missing;
  const others: Looks = { ...OTHERS, ...(state.ctx && Object.fromEntries(yourChecks(state.ctx))) };
  const all = [...checks, ...(await Promise.all(Object.entries(others).map(made)))];
  // Without the database there is nobody to name.
  const { ctx } = state;
  const named = ctx ? await eachFinding(all, (found) => withNames(ctx.db, found)).catch(() => all) : all;
  return reportOf(await eachFinding(named, withCauses));
}

/** All that was found, in the order of the checks. */
export const findingsOf = ({ checks }: { checks: readonly Check[] }): Finding[] =>
  checks.flatMap((check) => check.found ?? [check]);

/** The checks with their findings made anew, all at once. */
async function eachFinding(
  checks: readonly Check[],
  made: (all: Finding[]) => Finding[] | Promise<Finding[]>,
): Promise<Check[]> {
  const all = await made(findingsOf({ checks }));
  return checks.map((check) => ({ ...check, ...joined(all.splice(0, check.found?.length ?? 1)) }));
}

export function inShort({ ok, checks, failed, notChecked }: DoctorReport): string {
  if (!ok) return `${failed} of ${checks.length} checks failed, ${notChecked} could not be made.`;
  return checks.every(({ fix }) => fix === null) ? "Fit for work." : "No check failed; look at the warnings.";
}

export type DoctorReport = ReturnType<typeof reportOf>;

/** `ok`: every check was made, and none failed. */
function reportOf(made: Check[]) {
  const checks = made.map((check) => ({ ...check, level: levelOf(check) }));
  const skipped = checks.filter(({ isChecked = true }) => !isChecked).length;
  const failed = checks.filter(({ ok }) => !ok).length - skipped;
  return { ok: failed + skipped === 0, checks, failed, notChecked: skipped };
}

async function run(id: string, look: () => Promise<Found> | Found): Promise<Check> {
  try {
    return { id, ...joined([await look()].flat()) };
  } catch (error) {
    const words = messageOf(error);
    if (isConflict(error)) return { id, ...found("database_locked", { words }) };
    if (id !== "database" && isDatabaseUnreachable(error)) return notChecked(id, `the database (${words})`);
    return { id, ...found(OF_WHAT_THROWS[id] ?? "check_failed", { words }) };
  }
}

const OF_WHAT_THROWS: Readonly<Record<string, "settings_invalid" | "cannot_start" | "database_unreachable">> =
  {
    settings: "settings_invalid",
    start: "cannot_start",
    database: "database_unreachable",
  };

function notChecked(id: string, because: string): Check {
  return { id, ok: false, message: `Not checked, because of: ${because}.`, fix: null, isChecked: false };
}
