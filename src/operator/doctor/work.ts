import type { OpenContext } from "../../context.ts";
import { marksByKind } from "../../ledgers/store.ts";
import { type Sample, samplesOf as of } from "../../metrics/metrics.ts";
import * as judge from "../../processes/judge.ts";
import type { Process } from "../../processes/store.ts";
import { lostInShort } from "../lost-sales.ts";
import { foundInShort } from "../reconcile/known.ts";
import { failingAtPlatform, failingGrants, failingTokens, stuckSteps, unrefreshable } from "../store.ts";
import { counted, duration, moment } from "../wording.ts";
import { credentialsInAttention } from "./attention-store.ts";
import { ago, type Finding, fine, found, orFine, type Whom } from "./finding.ts";
import { processesOf } from "./processes.ts";
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

async function sweeps(ctx: OpenContext, measured: Measured): Promise<Finding[]> {
  const samples = await measured();
  const { sweepCron: cron } = ctx.config;
  const all = of(samples, "addon_sweep_age_seconds");
  if (all.length === 0) return [found("sweeps_never", {})];
  const slow = all.filter(({ value }) => value > SWEEPS_SLOW_AFTER_SECONDS);
  const isLong = slow.some(({ value }) => value > SWEEPS_LATE_AFTER_SECONDS);
  // A web process makes some of them by itself, also with WEB_JOBS=off.
  const none = slow.length > all.length / 2 ? noneRunsJobs(await processesOf(ctx)) : null;
  const oldest = Math.max(...slow.map(({ value }) => value));
  const values = { late: lateInWords(slow), isLong, cron, none };
  const late = slow.length === 0 ? [] : [found("sweeps_late", values, { since: ago(oldest) })];
  const [count, seconds] = ["addon_due", "addon_due_age_seconds"].map((name) =>
    valueOf(samples, name, "steps"),
  ) as [number, number];
  if (count > 0 && seconds > LATE_AFTER_SECONDS)
    late.push(found("steps_wait", { count }, { since: ago(seconds) }));
  return orFine(late, "The sweeps run.");
}

/** Of a single one, the finding's `since` says the time. */
function lateInWords(slow: readonly Sample[]): string {
  const [only] = slow;
  if (only && slow.length === 1) return `Late sweep: ${only.labels["sweep"]}.`;
  const each = slow.map(({ labels, value }) => `${labels["sweep"]} (${duration(value)} ago)`);
  return `Late sweeps, last ended or first expected: ${each.join(", ")}.`;
}

/** Why most jobs are late together, as far as the rows of the processes show it. */
function noneRunsJobs(all: readonly Process[]): string {
  const running = judge.running(all);
  const worker = all
    .filter(({ role }) => role === "worker")
    .sort((one, other) => one.beatSeconds - other.beatSeconds)[0];
  if (running.some(({ role }) => role === "worker")) return "A worker runs, and does not get them done.";
  const last = worker
    ? `the last worker, ${judge.named(worker)}, sent its last heartbeat at ${moment(worker.lastBeatAt)} (UTC)`
    : "no worker has run within a day";
  return `No process seems to run jobs: ${last}.`;
}

const valueOf = (samples: readonly Sample[], name: string, queue: string) =>
  of(samples, name).find(({ labels }) => labels["queue"] === queue)?.value ?? 0;

export async function tokens({ db }: OpenContext, measured: Measured): Promise<Finding[]> {
  const samples = await measured();
  const wrong: Finding[] = [];
  const [grant] = of(samples, "addon_grant_age_seconds");
  if (grant && grant.value > GRANT_LATE_AFTER_SECONDS)
    wrong.push(found("grant_waits", {}, { since: ago(grant.value) }));
  const grants = await failingGrants(db);
  if (grants.count > 0) {
    const whom = { count: grants.count, uuids: grants.some, list: { failing: "exchange" } };
    wrong.push(found("grants_fail", grants, { whom, since: ago(grants.ageSeconds) }));
  }
  const seconds = valueOf(samples, "addon_due_age_seconds", "refreshes");
  if (seconds > LATE_AFTER_SECONDS) {
    const isSoon = seconds > REFRESHES_URGENT_AFTER_SECONDS;
    wrong.push(found("refreshes_late", { isSoon }, { since: ago(seconds) }));
  }
  for (const tokens of await failingTokens(db)) {
    const { count, some, isRefused, leftSeconds, refusedSeconds } = tokens;
    const since = refusedSeconds === null ? {} : { since: ago(refusedSeconds) };
    const about = { whom: { count, uuids: some, list: { failing: "refresh" } }, ...since };
    const isSoon = leftSeconds < LAST_HOUR_SECONDS;
    wrong.push(found(isRefused ? "tokens_refused" : "tokens_fail", { ...tokens, isSoon }, about));
  }
  return orFine(wrong, "Grants are exchanged and tokens refreshed in time.");
}

export async function steps({ db }: OpenContext): Promise<Finding[]> {
  const wrong: Finding[] = [];
  const stuck = await stuckSteps(db);
  if (stuck.count > 0)
    wrong.push(found("steps_stuck", stuck, { whom: whomOf(stuck), since: ago(stuck.seconds) }));
  const failing = await failingAtPlatform(db);
  if (failing.count > 0)
    wrong.push(
      found("steps_fail_at_platform", failing, { whom: whomOf(failing), since: ago(failing.seconds) }),
    );
  return orFine(wrong, "No put-off work is stuck.");
}

/** Those who have such steps. The list is of one kind, or of all that fails. */
const whomOf = ({
  resources,
  some,
  kinds,
}: {
  resources: number;
  some: string[];
  kinds: string[];
}): Whom => ({
  count: resources,
  uuids: some,
  list: { failing: kinds.length === 1 ? kinds[0]! : "any" },
});

export async function attention({ config, db }: OpenContext): Promise<Finding[]> {
  const wrong = (await credentialsInAttention(db)).map(({ state, reason, count, some, since }) => {
    const canRecover = config.legacyGrants && (state === "grant_lost" || state === "no_grant");
    const whom = { count, uuids: some, list: { state } };
    const about = { whom, ...(since && { since: since.toISOString() }) };
    return found(state as NeedsPerson, { state, reason, count, canRecover }, about);
  });
  const { count, some, since } = await unrefreshable(db);
  const about = { whom: { count, uuids: some }, ...(since && { since: since.toISOString() }) };
  if (count > 0) wrong.push(found("no_refresh_token", { count }, about));
  return orFine(wrong, "No resource needs attention.");
}

type NeedsPerson = "grant_lost" | "no_grant" | "needs_reauth" | "quarantined";

async function lost({ db }: OpenContext): Promise<Finding[]> {
  const lost = await lostInShort(db);
  return lost === null
    ? [fine("No lost sale is open.")]
    : [found("sales_lost", { words: lost.words }, { since: lost.since })];
}

/** What the service noticed by itself, and what the last `kit reconcile` found. */
async function ledgers(ctx: OpenContext): Promise<Finding[]> {
  const differing = [...(await noticed(ctx)), ...(await compared(ctx))];
  return orFine(differing, "No difference between the platform's ledger and ours is known.");
}

async function compared(ctx: OpenContext): Promise<Finding[]> {
  const known = await foundInShort(ctx);
  if (!known) return [];
  const kinds = known.kinds.map(([kind, count]) => `${kind} ${count}`).join(", ");
  const count = known.kinds.reduce((sum, [, each]) => sum + each, 0);
  const at = known.at.toISOString();
  const words = `${counted(count, "difference")} of the ledgers ${count === 1 ? "is" : "are"} left that the last comparison found, and the service has not noticed by itself: ${kinds}.`;
  return [found("ledgers_differ", { words }, { since: at })];
}

async function noticed({ db }: OpenContext): Promise<Finding[]> {
  return (await marksByKind(db)).map(({ kind, count, living, since: first, uuids }) => {
    const list = kind === "gone_at_platform" ? { list: { state: kind } } : {};
    const about = { since: first.toISOString(), whom: { count, uuids, ...list } };
    return found(kind, { count, living }, about);
  });
}

type Look = (ctx: OpenContext, measured: Measured) => Promise<Finding[]>;
/** In rows that may be read at once. */
export const OF_WORK: readonly Readonly<Record<string, Look>>[] = [
  { sweeps, "your-service": yourService, "your-jobs": yourJobs, tokens },
  { steps, attention, ledgers, lost },
];
