import type { OpenContext } from "../../context.ts";
import { databaseClock } from "../../database/clock.ts";
import { apart } from "../../processes/clocks.ts";
import * as judge from "../../processes/judge.ts";
import { NO_HEARTBEAT } from "../../processes/presence.ts";
import { lateAfterSeconds, listProcesses, type Process } from "../../processes/store.ts";
import { moment } from "../wording.ts";
import { ago, type Finding, fine, found, orFine } from "./finding.ts";

// The processes that run, and the clocks of all. `kit doctor` and the operator's overview say the same of them.

export const processesOf = ({ db, pace }: OpenContext): Promise<Process[]> =>
  listProcesses(db, lateAfterSeconds(pace));

export async function processes(ctx: OpenContext): Promise<Finding[]> {
  const all = await processesOf(ctx);
  if (all.length === 0) return [fine("No process has been started on this database yet.")];
  const running = judge.running(all);
  const wrong = [
    ...judge.late(all, lateAfterSeconds(ctx.pace)).map(late),
    ...judge.missing(all).map((one) => missing(one, all)),
    ...judge.misconfigured(all).map(misconfigured),
    ...judge.keysThatDiffer(all).map(keyThatDiffers),
    ...noneRuns(all),
    ...tooFew(all, ctx.config.processesExpected),
    ...builds(all),
  ];
  const shown = [...new Set(running.map(judge.buildOf))].join(" and ");
  return orFine(wrong, `${running.length} run, of build ${shown}: ${names(running)}.`);
}

/** Whether the platform's calls come with the password that is set here, as far as the web processes have seen. */
export async function password(ctx: OpenContext): Promise<Finding> {
  const wrong = judge.wrongCalls(await processesOf(ctx));
  if (!wrong) return fine("The platform's calls have the right password, or there were none.");
  const { count, seconds, rightAgoSeconds } = wrong;
  const last = rightAgoSeconds === Infinity ? null : moment(ago(rightAgoSeconds));
  return found("passwords_wrong", { count, user: ctx.config.addonId, last }, { since: ago(seconds) });
}

const MOST_NAMED = 5;

function names(of: readonly Process[]): string {
  const more = of.length - MOST_NAMED;
  return `${of.slice(0, MOST_NAMED).map(judge.named).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function missing(one: Process, all: readonly Process[]): Finding {
  const words = `${judge.named(one)} has sent no heartbeat: ${NO_HEARTBEAT}.`;
  const values = { words, role: one.role, isReplaced: judge.isReplaced(one, all) };
  return found("process_missing", values, { since: ago(one.beatSeconds) });
}

const late = (one: Process): Finding =>
  found("process_late", { name: judge.named(one) }, { since: ago(one.beatSeconds) });

const misconfigured = (one: Process): Finding =>
  found(
    "process_misconfigured",
    { name: judge.named(one), why: one.why ?? "unknown" },
    { since: ago(one.beatSeconds) },
  );

const keyThatDiffers = ({ of, lacking }: { of: Process; lacking: readonly Process[] }): Finding =>
  found(
    "keys_differ",
    { name: judge.named(of), keyId: of.keyId, lacking: names(lacking) },
    { since: ago(of.startSeconds) },
  );

function noneRuns(all: readonly Process[]): Finding[] {
  if (judge.running(all).length > 0 || judge.missing(all).length > 0) return [];
  const seconds = Math.min(...all.map(({ beatSeconds }) => beatSeconds));
  return [found("no_process", {}, { since: ago(seconds) })];
}

function tooFew(all: readonly Process[], expected: number | undefined): Finding[] {
  const { length: ready } = judge.ready(all);
  if (expected === undefined || ready >= expected) return [];
  const since = judge.tooFewSince(all, expected);
  return [found("processes_few", { ready, expected }, since ? { since } : {})];
}

const LONGEST_DEPLOY_SECONDS = 3_600;

function builds(all: readonly Process[]): Finding[] {
  const { builds, seconds } = judge.buildsBesideEachOther(all);
  if (seconds <= LONGEST_DEPLOY_SECONDS) return [];
  return [found("builds_differ", { builds }, { since: ago(seconds) })];
}

/** As the processes measured them, and as this one does now. */
export async function clocks(ctx: OpenContext): Promise<Finding> {
  const end = ctx.clocks.measure("database");
  end(await databaseClock(ctx.db));
  const difference = apart(ctx.clocks.ahead(), "this machine's") ?? judge.clocksApart(await processesOf(ctx));
  return difference
    ? found("clocks_apart", { words: difference.message, cure: difference.fix })
    : fine("The clocks differ by less than a minute.");
}
