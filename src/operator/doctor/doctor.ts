import type { Config } from "../../config.ts";
import { isDatabaseAway, isLockTimeout } from "../../database/database.ts";
import { messageOf } from "../../errors.ts";
import { FRESH_MS, stateOfWork } from "../../metrics/store.ts";
import type { OpenContext } from "../../open-context.ts";
import { checkOffer } from "../../resources/check-offer.ts";
import type { Offer } from "../../resources/contract.ts";
import { sharedFor } from "../../within.ts";
import type { OnProgress } from "../work-through.ts";
import { fault, fine, type Check, type Finding } from "./finding.ts";
import { database, keys, manifest, plans, schema, settings, version } from "./installation.ts";
import { platform, platformStatus, secret, signInClient } from "./platform.ts";
import { attention, steps, sweeps, tokens, yourJobs, yourService, type Measured } from "./work.ts";

export interface DoctorReport {
  /** Every check was made, and none failed. */
  ok: boolean;
  checks: Check[];
  failed: number;
  /** How many checks could not be made. */
  notChecked: number;
}

/** The checks behind `settings` and `offer`, in the order of the report. `after`: the one without which it makes no sense. */
const CHECKS: readonly {
  id: string;
  after?: string;
  look(ctx: OpenContext, measured: Measured): Promise<Finding> | Finding;
}[] = [
  { id: "database", look: database },
  { id: "migrations", after: "database", look: schema },
  { id: "plans", after: "migrations", look: plans },
  { id: "keys", after: "migrations", look: keys },
  { id: "secret", after: "migrations", look: (ctx) => secret(ctx) },
  { id: "sweeps", after: "migrations", look: sweeps },
  { id: "your-service", after: "migrations", look: (_, measured) => yourService(measured) },
  { id: "tokens", after: "migrations", look: tokens },
  { id: "platform", look: platform },
  { id: "status", look: platformStatus },
  { id: "sign-in", look: signInClient },
  { id: "version", look: version },
  { id: "manifest", look: ({ config }) => manifest(process.cwd(), config.required) },
  { id: "steps", after: "migrations", look: steps },
  { id: "attention", after: "migrations", look: attention },
];

/** Those of your service: its jobs, and the checks that it brings along. */
function yourChecks({ vendor: { jobs = [], checks = {} } }: OpenContext): (typeof CHECKS)[number][] {
  const own = Object.entries(checks).map(([name, check]) => ({
    id: `your-${name}`,
    look: async () => {
      const said = await check();
      return said === null ? fine("Your service finds nothing to fix.") : fault(said, null);
    },
  }));
  return [...(jobs.length > 0 ? [{ id: "your-jobs", after: "migrations", look: yourJobs }] : []), ...own];
}

/**
 * Looks at everything that the service needs and says what to fix. It changes nothing. It works when settings are wrong,
 * keys are missing or the database is unreachable: a check that cannot be made then says so.
 */
export async function examine(needs: {
  /** Throws `Misconfigured` with all faults of the settings. */
  readSettings(): Config;
  open(config: Config): Promise<OpenContext>;
  offer: Offer;
  onProgress?: OnProgress | undefined;
}): Promise<DoctorReport> {
  const offered = await run("offer", () => {
    checkOffer(needs.offer);
    return fine("Plans, regions and config vars fit together.");
  });
  const set = await run("settings", () => settings(needs.readSettings()));
  const without = (cause: Check) =>
    reportOf([
      ...[set, offered],
      ...CHECKS.map(({ id }) => (id === cause.id ? cause : notChecked(id, cause.id))),
    ]);
  if (!set.ok) return without(set);
  if (!offered.ok) return without(offered);
  let ctx: OpenContext;
  try {
    ctx = await needs.open(needs.readSettings());
  } catch (error) {
    return without({ id: "database", ...fault(messageOf(error), null) });
  }
  const measured = sharedFor(FRESH_MS, () => stateOfWork(ctx.db, ctx.jobs.names));
  const made: Record<string, Promise<Check>> = {};
  let done = 0;
  const all = [...CHECKS, ...yourChecks(ctx)];
  const begin = ({ id, after, look }: (typeof CHECKS)[number]) =>
    (made[id] = run(id, () => look(ctx, measured), after && made[after]).finally(() =>
      needs.onProgress?.((done += 1), all.length),
    ));
  // Those that depend on no other run beside the rest: if the platform hangs, its time limit passes once.
  for (const each of all.filter(({ after }) => after === undefined)) void begin(each);
  for (const each of all.filter(({ after }) => after !== undefined)) await begin(each);
  return reportOf([set, offered, ...(await Promise.all(all.map(({ id }) => made[id]!)))]);
}

function reportOf(checks: Check[]): DoctorReport {
  const skipped = checks.filter(({ isChecked = true }) => !isChecked).length;
  const failed = checks.filter(({ ok }) => !ok).length - skipped;
  return { ok: failed + skipped === 0, checks, failed, notChecked: skipped };
}

/** Makes a check, unless the one that it needs was not passed. */
async function run(
  id: string,
  look: () => Promise<Finding> | Finding,
  needed?: Promise<Check> | "",
): Promise<Check> {
  const before = await needed;
  // The check that failed first is named, not one that was itself skipped because of it.
  if (before && !before.ok) return before.isChecked === false ? { ...before, id } : notChecked(id, before.id);
  try {
    return { id, ...(await look()) };
  } catch (error) {
    if (isLockTimeout(error)) return { id, ...fault(messageOf(error), WHO_LOCKS) };
    if (isDatabaseAway(error)) return notChecked(id, `the database (${messageOf(error)})`);
    return { id, ...fault(messageOf(error), HOW_TO_FIX[id] ?? null) };
  }
}

const HOW_TO_FIX: Readonly<Record<string, string>> = {
  settings: "Fix them in the environment, or in the .env beside the process.",
  offer: "Fix it there, and build it again.",
};

const WHO_LOCKS =
  "Another session of PostgreSQL holds a lock. How to find it: AddonDatabaseAway in docs/operate.md.";

function notChecked(id: string, because: string): Check {
  return { id, ...fault(`Not checked, because of: ${because}.`, null), isChecked: false };
}
