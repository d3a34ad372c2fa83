import type { OpenContext } from "../../context.ts";
import { databaseClock } from "../../database/clock.ts";
import { apart } from "../../processes/clocks.ts";
import * as judge from "../../processes/judge.ts";
import { HAS_NOT_BEATEN } from "../../processes/presence.ts";
import { lateAfterSeconds, listProcesses, type Process } from "../../processes/store.ts";
import { duration } from "../wording.ts";
import { ago, type Finding, fine, found, orFine } from "./finding.ts";

// The processes that run, and the clocks of all. `kit doctor` and the operator's overview say the same of them.

export const processesOf = ({ db, pace }: OpenContext): Promise<Process[]> =>
  listProcesses(db, lateAfterSeconds(pace));

export async function processes(ctx: OpenContext): Promise<Finding[]> {
  const all = await processesOf(ctx);
  if (all.length === 0) return [fine("No process has been started on this database yet.")];
  const running = judge.running(all);
  const wrong = [
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

const MOST_NAMED = 5;

function names(of: readonly Process[]): string {
  const more = of.length - MOST_NAMED;
  return `${of.slice(0, MOST_NAMED).map(judge.named).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function missing(one: Process, all: readonly Process[]): Finding {
  const words = `${judge.named(one)} has not beaten for ${duration(one.beatSeconds)}: ${HAS_NOT_BEATEN}.`;
  const values = { words, role: one.role, isReplaced: judge.isReplaced(one, all) };
  return found("process_missing", values, { since: ago(one.beatSeconds) });
}

const misconfigured = (one: Process): Finding =>
  found(
    "process_misconfigured",
    { name: judge.named(one), ago: duration(one.beatSeconds), why: one.why ?? "unknown" },
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
  return [found("no_process", { ago: duration(seconds) }, { since: ago(seconds) })];
}

function tooFew(all: readonly Process[], expected: number | undefined): Finding[] {
  const { length: ready } = judge.ready(all);
  return expected === undefined || ready >= expected ? [] : [found("processes_few", { ready, expected })];
}

const LONGEST_DEPLOY_SECONDS = 3_600;

function builds(all: readonly Process[]): Finding[] {
  const { builds, seconds } = judge.buildsBesideEachOther(all);
  if (seconds <= LONGEST_DEPLOY_SECONDS) return [];
  return [found("builds_differ", { builds, since: duration(seconds) }, { since: ago(seconds) })];
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
