import type { OpenContext } from "../../context.ts";
import { marksByKind } from "../../ledgers/store.ts";
import { type Sample, samplesOf as of } from "../../metrics/metrics.ts";
import { lostInShort, TO_DO } from "../lost-sales.ts";
import { foundInShort } from "../reconcile/known.ts";
import { failingAtPlatform, failingGrants, failingTokens, stuckSteps, unrefreshable } from "../store.ts";
import { adviceOn, counted, countedToMost, duration, moment } from "../wording.ts";
import { failingNow, fault, type Finding, fine, orFine, shown, warning } from "./finding.ts";
import { SWEEPS_LATE_AFTER_SECONDS, yourJobs, yourService } from "./your-service.ts";

// Whether what must happen does. `kit doctor` and the operator's overview say the same of it.

// Whoever opens a check-up sees at once what is wrong now, as a warning; it is a fault when it lasts.

/** By default a sweep runs every 15 seconds (SWEEP_CRON), for 20 at most. */
const SWEEPS_SLOW_AFTER_SECONDS = 60;
/** A grant is normally exchanged within seconds of its arrival. */
const GRANT_LATE_AFTER_SECONDS = 30;
/** What is due is begun at once, or by the next sweep. */
const LATE_AFTER_SECONDS = 60;
/** If a token expires sooner than this, its late refresh is a fault. */
const LAST_HOUR_SECONDS = 3_600;
/** A token falls due in the middle of its eight hours, so it has an hour left. */
const REFRESHES_URGENT_AFTER_SECONDS = 3 * 3_600;

export type Measured = () => Promise<readonly Sample[]>;

async function sweeps({ config }: OpenContext, measured: Measured): Promise<Finding[]> {
  const samples = await measured();
  const all = of(samples, "addon_sweep_age_seconds");
  const start = "Start the web process with WEB_JOBS=on, or a worker beside it.";
  if (all.length === 0) return [fault("No sweep has ever run: nothing is exchanged or refreshed.", start)];
  const slow = all.filter(({ value }) => value > SWEEPS_SLOW_AFTER_SECONDS);
  const isLate = slow.some(({ value }) => value > SWEEPS_LATE_AFTER_SECONDS);
  const names = slow.map(({ labels, value }) => `${labels["sweep"]} (${duration(value)} ago)`).join(", ");
  const found =
    slow.length === 0
      ? []
      : [
          (isLate ? fault : warning)(
            `Late sweeps, last ended or first expected: ${names}.`,
            `${start} Is one running? Its log says what fails. (SWEEP_CRON is "${config.sweepCron}".)`,
          ),
        ];
  const [due, age] = ["addon_due", "addon_due_age_seconds"].map((name) => valueOf(samples, name, "steps"));
  if (due! > 0 && age! > LATE_AFTER_SECONDS)
    found.push(
      warning(
        `${countedToMost(due!, "step")} of put-off work waits for its turn, the first for ${duration(age!)}.`,
        "Is a sweep late, or do calls of your functions hang and take all places (your-service)?",
      ),
    );
  return orFine(found, "The sweeps run.");
}

const valueOf = (samples: readonly Sample[], name: string, queue: string) =>
  of(samples, name).find(({ labels }) => labels["queue"] === queue)?.value ?? 0;

const CATCH_UP =
  "First fix what else is found, above all of the database and the client secret. If that is nothing, look at the platform: kit status";

export async function tokens({ db }: OpenContext, measured: Measured): Promise<Finding[]> {
  const samples = await measured();
  const found: Finding[] = [];
  const add = (isUrgent: boolean, message: string) =>
    found.push(
      isUrgent ? fault(message, CATCH_UP) : warning(message, `${CATCH_UP}. They catch up by themselves.`),
    );
  const [grant] = of(samples, "addon_grant_age_seconds");
  if (grant && grant.value > GRANT_LATE_AFTER_SECONDS)
    add(true, `A grant waits for its exchange since ${duration(grant.value)}, and has five minutes.`);
  const grants = await failingGrants(db);
  if (grants.count > 0) {
    const first = `the first came ${duration(grants.ageSeconds)} ago`;
    const message = `The exchange of ${countedToMost(grants.count, "grant")} fails, ${first}. The last try: ${grants.lastError}`;
    found.push(failingNow(message, `${CATCH_UP}. They are tried again within their five minutes.`));
  }
  const refreshAge = valueOf(samples, "addon_due_age_seconds", "refreshes");
  if (refreshAge > LATE_AFTER_SECONDS)
    add(refreshAge > REFRESHES_URGENT_AFTER_SECONDS, `Refreshes are late by ${duration(refreshAge)}.`);
  const { count, leftSeconds, lastError } = await failingTokens(db);
  if (count > 0) {
    const end = leftSeconds > 0 ? `ends in ${duration(leftSeconds)}` : "has ended";
    const message = `The refresh of ${countedToMost(count, "token")} fails, the first ${end}. The last try: ${lastError}`;
    add(leftSeconds < LAST_HOUR_SECONDS, message);
  }
  return orFine(found, "Grants are exchanged and tokens refreshed in time.");
}

export async function steps({ db }: OpenContext): Promise<Finding[]> {
  const found: Finding[] = [];
  const { count, kinds, some } = await stuckSteps(db);
  if (count > 0) {
    const message = `${countedToMost(count, "step")} failed again and again, or still went on after 11 hours: ${kinds.join(", ")}.`;
    const fix = "Read what came of the last try, and fix it; the next follows by itself";
    found.push(fault(message, `${fix}: ${shown(some)}`));
  }
  const failing = await failingAtPlatform(db);
  if (failing.count > 0) {
    const message = `${countedToMost(failing.count, "step")} failed at the platform and will be tried again: ${failing.kinds.join(", ")}; the first is late by ${duration(failing.seconds)}. The last error: ${failing.lastError}`;
    const fix = "Is the platform in trouble (kit status)? They catch up by themselves";
    found.push(warning(message, `${fix}: ${shown(failing.some)}`));
  }
  return orFine(found, "No put-off work is stuck.");
}

export async function attention({ config, db }: OpenContext, measured: Measured): Promise<Finding[]> {
  const found = of(await measured(), "addon_credentials_needing_attention").map(({ labels, value }) => {
    const { state, reason } = labels as { state: string; reason: string };
    const { what, todo } = adviceOn(state, reason)!;
    const canRecover = config.legacyGrants && (state === "grant_lost" || state === "no_grant");
    const message = `${countedToMost(value, "resource")} ${state}${reason && ` (${reason})`}: ${what}`;
    const fix = canRecover ? "Recover what was lost: kit grants recover --all" : todo;
    const as = state === "no_grant" ? warning : fault;
    return as(message, `${fix} · kit resources list --state ${state}`);
  });
  const { count, some } = await unrefreshable(db);
  if (count > 0) {
    const message = `${countedToMost(count, "resource")} without a refresh token: access ends, or has ended, with the token there is.`;
    found.push(fault(message, `Ask the platform's support. Some of them: ${shown(some)}`));
  }
  return orFine(found, "No resource needs attention.");
}

async function lost({ db }: OpenContext): Promise<Finding[]> {
  const sentence = await lostInShort(db);
  if (sentence === null) return [fine("No lost sale is open.")];
  return [
    warning(
      sentence,
      `${TO_DO} Then tick them off: kit lost, or "Tick off lost sales" of the operator's pages`,
    ),
  ];
}

/** In a day; more are a mistake of somebody's rather than so many customers' ends. */
const FEW_GONE = 10;
const IS_WAVE =
  "So many at once are rarely true: is ADDON_ID right, was the platform, or our database, restored? Nothing was given up.";

const LEDGERS = { path: "/ledgers", name: "What differs between the ledgers, and its cures" };

/** What the service noticed by itself, and what the last `kit reconcile` found. */
async function ledgers(ctx: OpenContext): Promise<Finding[]> {
  const found = [...(await noticed(ctx)), ...(await compared(ctx))];
  const differing = found.map((each) => ({ ...each, page: LEDGERS }));
  return orFine(differing, "No difference between the platform's ledger and ours is known.");
}

async function compared(ctx: OpenContext): Promise<Finding[]> {
  const found = await foundInShort(ctx);
  if (!found) return [];
  const kinds = found.kinds.map(([kind, count]) => `${kind} ${count}`).join(", ");
  const count = found.kinds.reduce((sum, [, each]) => sum + each, 0);
  return [
    warning(
      `${counted(count, "difference")} of the ledgers ${count === 1 ? "is" : "are"} left that the comparison of ${moment(found.at.toISOString())} (UTC) found, and the service has not noticed by itself: ${kinds}.`,
      "Deal with them, kind by kind: kit reconcile names the cures, as does the page /operator/ledgers",
    ),
  ];
}

async function noticed({ db }: OpenContext): Promise<Finding[]> {
  return (await marksByKind(db)).flatMap(({ kind, count, living, since, uuids }) => {
    const from = moment(since.toISOString());
    if (kind === "gone_at_platform") {
      const message = `${countedToMost(count, "resource")} gone at the platform, noticed since ${from} (UTC); here nothing was changed but that refreshes pause.`;
      const wave = count > FEW_GONE ? `${IS_WAVE} ` : "";
      return fault(
        message,
        `${wave}Compare: kit reconcile. Then: kit resources erase UUID, or kit reconcile --fix gone_at_platform. Some: ${shown(uuids)}`,
      );
    }
    if (kind === "plan_differs")
      return fault(
        `The platform has ${countedToMost(count, "resource")} on another plan than your backend was given, noticed since ${from} (UTC).`,
        `Compare: kit reconcile. Then: kit reconcile --fix plan_differs. Some: ${shown(uuids)}`,
      );
    const message = `The platform asked about ${countedToMost(count, "resource")} never provisioned here, since ${from} (UTC); it has not ended ${living} of them, so a customer may pay. The first: ${uuids.join(" · ")}`;
    const todo =
      "Take over what lives: kit resources import, then kit grants recover. Drop a uuid from this list: kit resources erase UUID";
    return living > 0
      ? fault(message, todo)
      : warning(
          message,
          "If your backend has one of them, take it down there: kit reconcile. They leave this list a week later.",
        );
  });
}

export const OF_WORK = {
  sweeps,
  "your-service": yourService,
  "your-jobs": yourJobs,
  tokens,
  steps,
  attention,
  ledgers,
  lost,
} satisfies Record<string, (ctx: OpenContext, measured: Measured) => Promise<Finding[]>>;
