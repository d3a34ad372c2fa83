import { Option } from "commander";
import type { Context } from "../../context.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { type FixableKind, KINDS } from "../reconcile/differences.ts";
import { carryOut, FIXABLE_KINDS, fixableKind, questionOf, refuseWave } from "../reconcile/fixes.ts";
import { type Comparison, reconcile } from "../reconcile/reconcile.ts";
import { counted } from "../wording.ts";
import type { Report } from "../work-through.ts";
import { blockOf, linesOf, outcomeOf } from "./comparison.ts";
import { example } from "./outcome.ts";
import { writeItems } from "./pages.ts";
import type { KitCommand, Session } from "./session.ts";

interface Options {
  platformList?: boolean;
  fix?: FixableKind;
  yes?: boolean;
  after?: string;
  rate: number;
  jsonLines?: boolean;
}

export function addReconcile(program: KitCommand): void {
  program
    .command("reconcile")
    .summary("compare platform, service and backend")
    .option("--platform-list", "the platform's uuids, one a line, come on standard input")
    .addOption(
      new Option("--fix <kind>", "then fix this kind of difference")
        .choices(FIXABLE_KINDS)
        .argParser(fixableKind),
    )
    .option("--yes", "do not ask")
    .option("--after <uuid>", "continue where a comparison was stopped", typedUuid)
    .option("--rate <n>", "ask the platform about so many resources a second", rate, 20)
    .option("--json-lines", "a JSON line for each difference, and the sum on standard error")
    .description("compare what the platform has, what we have and what your backend has")
    .addHelpText(
      "after",
      `${example("kit reconcile --platform-list < uuids.txt")}\n\n${kindsInWords()}${ENDING}`,
    )
    .does(async (session, options: Options) => {
      const { platformList = false, fix, yes = false } = options;
      if (fix && !yes) session.mustBeAsked(platformList);
      const ctx = await session.context({ changes: fix !== undefined });
      const how = session.how();
      const lines = platformList ? linesOf(session, how.signal) : null;
      const comparison = await reconcile(
        ctx,
        { lines, after: options.after ?? null, rate: options.rate },
        how,
      );
      const fixed = fix ? await fixAll(session, ctx, comparison, { kind: fix, yes }) : null;
      const outcome = outcomeOf(comparison, fixed);
      if (!options.jsonLines) return outcome;
      for (const fault of comparison.findings.faults()) session.complain(fault);
      return writeItems(session, outcome.data.differences, outcome);
    });
}

function kindsInWords(): string {
  return Object.entries(KINDS)
    .map(([kind, { what }]) => `${kind.padEnd(19)} ${what}`)
    .join("\n");
}

const ENDING = `

Without --fix it changes nothing. What it finds is kept for the operator's page
(/operator/ledgers) until the next comparison. A line of the list is a uuid, whatever
follows it; or JSON as for kit resources import, which can then be imported. With a
list, and more than 500 resources, the platform is asked only about those that the
list lacks. Exit code 0: no difference, and all was compared; 1: otherwise.`;

/** How many resources a second are asked about, as typed. */
export function rate(text: string): number {
  if (/^\d{1,3}(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new UsedWrongly(`"${text}" is not a number of resources a second.`);
}

async function fixAll(
  session: Session,
  ctx: Context,
  comparison: Comparison,
  { kind, yes }: { kind: FixableKind; yes: boolean },
): Promise<Report | null> {
  const { findings } = comparison;
  const found = findings.named().filter((each) => each.kind === kind);
  if (found.length === 0) return null;
  const count = found.length + (findings.unnamed()[kind] ?? 0);
  refuseWave(kind, count, { alive: comparison.alive, backend: comparison.backend?.uuids.size() ?? null });
  if (!yes) {
    session.say(blockOf(session.paint(), kind, found));
    const others = count - found.length;
    const later = others > 0 ? ` (${others} more are not named: run it again for these)` : "";
    await session.confirm(`${counted(found.length, "resource")}${later}: ${await questionOf(ctx, kind)}`);
  }
  const report = await carryOut(ctx, kind, found, session.how());
  const done = new Set(report.done);
  findings.keep((each) => each.kind !== kind || !done.has(each.uuid));
  return report;
}
