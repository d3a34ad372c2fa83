import type { OpenContext } from "../../context.ts";
import { databaseClock } from "../../database/clock.ts";
import { apart } from "../../processes/clocks.ts";
import * as judge from "../../processes/judge.ts";
import { HAS_NOT_BEATEN } from "../../processes/presence.ts";
import { lateAfterSeconds, listProcesses, type Process } from "../../processes/store.ts";
import { duration } from "../wording.ts";
import { fault, type Finding, fine, orFine, warning } from "./finding.ts";

// The processes that run, and the clocks of all. `kit doctor` and the operator's overview say the same of them.

export const processesOf = ({ db, pace }: OpenContext): Promise<Process[]> =>
  listProcesses(db, lateAfterSeconds(pace));

export async function processes(ctx: OpenContext): Promise<Finding[]> {
  const all = await processesOf(ctx);
  if (all.length === 0) return [fine("No process has been started on this database yet.")];
  const running = judge.running(all);
  const found = [
    ...judge.missing(all).map((one) => missing(one, all)),
    ...judge.misconfigured(all).map(misconfigured),
    ...judge.keysThatDiffer(all).map(keyThatDiffers),
    ...noneRuns(all),
    ...tooFew(all, ctx.config.processesExpected),
    ...builds(all),
  ];
  const shown = [...new Set(running.map(judge.buildOf))].join(" and ");
  return orFine(found, `${running.length} run, of build ${shown}: ${names(running)}.`);
}

const MOST_NAMED = 5;

function names(of: readonly Process[]): string {
  const more = of.length - MOST_NAMED;
  return `${of.slice(0, MOST_NAMED).map(judge.named).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function missing(one: Process, all: readonly Process[]): Finding {
  const message = `${judge.named(one)} has not beaten for ${duration(one.beatSeconds)}: ${HAS_NOT_BEATEN}.`;
  if (!judge.isReplaced(one, all))
    return fault(
      message,
      "Look at its machine: is it there, does it use a whole processor, is its log silent? Kill what stands still, and start another one.",
    );
  return warning(
    `${message} Another ${one.role} was started since.`,
    "If that one replaced it, there is nothing to do: this ends an hour after its last beat. If it still stands there, kill it.",
  );
}

const misconfigured = (one: Process): Finding =>
  fault(
    `${judge.named(one)} ended with the exit code 78, ${duration(one.beatSeconds)} ago; at fault: ${one.why ?? "unknown"}.`,
    "Its last output says what is wrong with that: fix it in its environment, and start it again.",
  );

const keyThatDiffers = ({ of, lacking }: { of: Process; lacking: readonly Process[] }): Finding =>
  fault(
    `${judge.named(of)} seals with key ${of.keyId}, which ${names(lacking)} cannot decrypt with: there, what it seals is quarantined.`,
    "Give all processes the same ENCRYPTION_KEY, and the other key as one of DECRYPTION_KEYS (docs/rotate.md); what was quarantined is then used again.",
  );

function noneRuns(all: readonly Process[]): Finding[] {
  if (judge.running(all).length > 0 || judge.missing(all).length > 0) return [];
  const seconds = Math.min(...all.map(({ beatSeconds }) => beatSeconds));
  return [
    fault(
      `No process runs; the last one ended ${duration(seconds)} ago.`,
      "Start the web process. The last output of the one that ended says why it did.",
    ),
  ];
}

function tooFew(all: readonly Process[], expected: number | undefined): Finding[] {
  const { length } = judge.ready(all);
  if (expected === undefined || length >= expected) return [];
  return [
    fault(
      `${length} of the ${expected} processes of PROCESSES_EXPECTED are ready.`,
      "Start the others; kit processes shows which ended, and how.",
    ),
  ];
}

const LONGEST_DEPLOY_SECONDS = 3_600;

function builds(all: readonly Process[]): Finding[] {
  const { builds, seconds } = judge.buildsBesideEachOther(all);
  if (seconds <= LONGEST_DEPLOY_SECONDS) return [];
  return [
    warning(
      `${builds.length} builds run beside each other since ${duration(seconds)}: ${builds.join(" and ")}.`,
      "End the deploy, or roll it back; kit processes shows which process runs which.",
    ),
  ];
}

/** As the processes measured them, and as this one does now. */
export async function clocks(ctx: OpenContext): Promise<Finding> {
  const end = ctx.clocks.measure("database");
  end(await databaseClock(ctx.db));
  const found = apart(ctx.clocks.ahead(), "this machine's") ?? judge.clocksApart(await processesOf(ctx));
  return found ? fault(found.message, found.fix) : fine("The clocks differ by less than a minute.");
}
