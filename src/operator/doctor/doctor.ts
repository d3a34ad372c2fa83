import type { Config } from "../../config.ts";
import { isDatabaseAway, isHeldUp } from "../../database/database.ts";
import { messageOf } from "../../errors.ts";
import { FRESH_MS, stateOfWork } from "../../metrics/store.ts";
import type { OpenContext } from "../../context.ts";
import { checkOffer } from "../../resources/check-offer.ts";
import type { Offer } from "../../resources/contract.ts";
import { sharedFor } from "../../within.ts";
import type { OnProgress } from "../work-through.ts";
import { fault, fine, joined, type Check, type Finding } from "./finding.ts";
import { database, keys, manifest, migrations, plans, settings, version } from "./installation.ts";
import { platform, platformStatus, secret, signInClient } from "./platform.ts";
import { OF_WORK, type Measured } from "./work.ts";

type Found = Finding | Finding[];
type Look = (ctx: OpenContext, measured: Measured) => Promise<Found> | Found;

/** Some checks, each after the one without which it makes no sense. */
const each = (looks: Record<string, Look>, after?: string) =>
  Object.entries(looks).map(([id, look]) => ({ id, look, after }));

/** The checks behind `settings` and `offer`, in the order of the report. */
const CHECKS = [
  ...each({ database }),
  ...each({ migrations }, "database"),
  ...each({ plans, keys, secret: (ctx) => secret(ctx), ...OF_WORK }, "migrations"),
  ...each({ platform, status: platformStatus, "sign-in": signInClient, version, manifest: () => manifest() }),
];

const yourChecks = ({ vendor: { checks = {} } }: OpenContext) =>
  Object.entries(checks).flatMap(([name, check]) =>
    each({
      [`your-${name}`]: async () => {
        const said = await check();
        return said === null ? fine("Your service finds nothing to fix.") : fault(said, null);
      },
    }),
  );

/** Works when settings are wrong, keys are missing or the database is unreachable. It changes nothing. */
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
  const begin = ({ id, after, look }: (typeof all)[number]) =>
    (made[id] = run(id, () => look(ctx, measured), after && made[after]).finally(() =>
      needs.onProgress?.((done += 1), all.length),
    ));
  // The database's one by one; then the others at once: if the platform hangs, its time limit passes once.
  const isOfDatabase = ({ id, after }: (typeof all)[number]) => id === "database" || after !== undefined;
  for (const check of all.filter(isOfDatabase)) await begin(check);
  for (const check of all) if (!isOfDatabase(check)) void begin(check);
  return reportOf([set, offered, ...(await Promise.all(all.map(({ id }) => made[id]!)))]);
}

export function inShort({ ok, checks, failed, notChecked }: DoctorReport): string {
  if (!ok) return `${failed} of ${checks.length} checks failed, ${notChecked} could not be made.`;
  return checks.every(({ fix }) => fix === null) ? "Fit for work." : "No check failed; look at the warnings.";
}

export type DoctorReport = ReturnType<typeof reportOf>;

/** `ok`: every check was made, and none failed. */
function reportOf(checks: Check[]) {
  const skipped = checks.filter(({ isChecked = true }) => !isChecked).length;
  const failed = checks.filter(({ ok }) => !ok).length - skipped;
  return { ok: failed + skipped === 0, checks, failed, notChecked: skipped };
}

async function run(
  id: string,
  look: () => Promise<Found> | Found,
  needed?: Promise<Check> | "",
): Promise<Check> {
  const before = await needed;
  // The check that failed first is named, not one that was itself skipped because of it.
  if (before && !before.ok) return before.isChecked === false ? { ...before, id } : notChecked(id, before.id);
  try {
    return { id, ...joined([await look()].flat()) };
  } catch (error) {
    if (isHeldUp(error)) return { id, ...fault(messageOf(error), WHO_LOCKS) };
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
