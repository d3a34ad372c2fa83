import type { Config } from "../../config.ts";
import { isDatabaseAway, isLockTimeout } from "../../database/database.ts";
import { messageOf } from "../../errors.ts";
import type { OpenContext } from "../../open-context.ts";
import { checkOffer } from "../../resources/check-offer.ts";
import type { Offer } from "../../resources/contract.ts";
import type { OnProgress } from "../work-through.ts";
import { database, keys, plans, schema } from "./database.ts";
import { fault, fine, notChecked, warning, type Check, type Finding } from "./finding.ts";
import { clocks, platform, platformStatus, secret, signInClient } from "./platform.ts";
import { manifest, operators, passwords, unsafeSettings, version } from "./settings.ts";
import { attention, lost, steps, sweeps, tokens } from "./work.ts";

export interface DoctorReport {
  /** Every check was made, and none failed. */
  ok: boolean;
  checks: Check[];
  failed: number;
  /** How many checks could not be made. */
  notChecked: number;
}

/** The checks, in the order of the report. `after` names the check without which this one makes no sense. */
const CHECKS: readonly { id: string; after?: string; look(ctx: OpenContext): Promise<Finding> | Finding }[] =
  [
    { id: "database", look: database },
    { id: "clocks", after: "database", look: clocks },
    { id: "migrations", after: "database", look: schema },
    { id: "plans", after: "migrations", look: plans },
    { id: "keys", after: "migrations", look: keys },
    { id: "secret", after: "migrations", look: (ctx) => secret(ctx) },
    { id: "sweeps", after: "migrations", look: sweeps },
    { id: "tokens", after: "migrations", look: tokens },
    { id: "platform", look: platform },
    { id: "status", look: platformStatus },
    { id: "sign-in", look: signInClient },
    { id: "operators", look: operators },
    { id: "passwords", look: passwords },
    { id: "version", look: version },
    { id: "manifest", look: ({ config }) => manifest(process.cwd(), config.required) },
    { id: "steps", after: "migrations", look: steps },
    { id: "lost", after: "migrations", look: lost },
    { id: "attention", after: "migrations", look: attention },
  ];
const IDS = ["settings", "offer", ...CHECKS.map(({ id }) => id)];

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
  const settings = await finding("settings", () => {
    const config = needs.readSettings();
    const remarks = [...config.remarks, ...unsafeSettings(config)];
    if (remarks.length > 0)
      return warning(remarks.join(" "), "Change them where they are set, unless this is development.");
    return fine("All settings are there and make sense.");
  });
  if (!settings.ok) {
    const fix = "Fix them in the environment, or in the .env beside the process.";
    return reportOf([{ ...settings, fix }], "settings");
  }
  const offered = await finding("offer", () => {
    checkOffer(needs.offer);
    return fine("Plans, regions and config vars fit together.");
  });
  // The service cannot be opened with a faulty offer.
  if (!offered.ok)
    return reportOf([settings, { ...offered, fix: "Fix it there, and build it again." }], "offer");
  const checks = [settings, offered];
  let ctx: OpenContext;
  try {
    ctx = await needs.open(needs.readSettings());
  } catch (error) {
    return reportOf([...checks, { id: "database", ...fault(messageOf(error), null) }], "database");
  }
  // Checks that depend on no other start at once and run concurrently: if the platform hangs, its time limit passes
  // once and not once per check.
  const begun = new Map(
    CHECKS.filter(({ after }) => after === undefined).map(({ id, look }) => [
      id,
      finding(id, () => look(ctx)),
    ]),
  );
  const causes = new Map<string, string>();
  for (const { id, after, look } of CHECKS) {
    needs.onProgress?.(checks.length, IDS.length);
    const blocking = checks.find((check) => check.id === after && !check.ok)?.id;
    // Name the check that failed first, not one that was itself skipped because of it.
    const cause = blocking && (causes.get(blocking) ?? blocking);
    if (cause) causes.set(id, cause);
    checks.push(cause ? notChecked(id, cause) : await (begun.get(id) ?? finding(id, () => look(ctx))));
  }
  return reportOf(checks, "database");
}

/** The report on `made`; the checks that are missing there could not be made, because of `cause`. */
function reportOf(made: readonly Check[], cause: string): DoctorReport {
  const checks = IDS.map((id) => made.find((check) => check.id === id) ?? notChecked(id, cause));
  const skipped = checks.filter(({ isChecked = true }) => !isChecked).length;
  const failed = checks.filter(({ ok }) => !ok).length - skipped;
  return { ok: failed + skipped === 0, checks, failed, notChecked: skipped };
}

async function finding(id: string, look: () => Promise<Finding> | Finding): Promise<Check> {
  try {
    return { id, ...(await look()) };
  } catch (error) {
    if (isLockTimeout(error)) return { id, ...fault(messageOf(error), WHO_LOCKS) };
    if (isDatabaseAway(error)) return notChecked(id, `the database (${messageOf(error)})`);
    return { id, ...fault(messageOf(error), null) };
  }
}

const WHO_LOCKS =
  "Another session of PostgreSQL holds a lock. How to find it: AddonDatabaseAway in docs/operate.md.";
