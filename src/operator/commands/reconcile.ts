import { createInterface } from "node:readline";
import type { Context } from "../../context.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { differenceOf, KINDS, type FixableKind, type Found, type Kind } from "../reconcile/differences.ts";
import { carryOut, fixableKind, refuseWave } from "../reconcile/fixes.ts";
import { reconcile, type Comparison } from "../reconcile/reconcile.ts";
import { counted, MOST_SHOWN, some } from "../wording.ts";
import type { Report } from "../work-through.ts";
import type { Paint } from "./host.ts";
import { DONE, example, FAILED, marked, safe, table, type Outcome } from "./outcome.ts";
import type { KitCommand, Session } from "./session.ts";

interface Options {
  platformList?: boolean;
  fix?: FixableKind;
  yes?: boolean;
  after?: string;
  rate: number;
}

export function addReconcile(program: KitCommand): void {
  program
    .command("reconcile")
    .option("--platform-list", "the platform's uuids, one a line, come on standard input")
    .option("--fix <kind>", "then carry this kind of difference out", fixableKind)
    .option("--yes", "do not ask")
    .option("--after <uuid>", "go on where a comparison was stopped", typedUuid)
    .option("--rate <n>", "so many resources a second are asked about", rate, 20)
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
      return outcomeOf(comparison, fixed);
    });
}

function kindsInWords(): string {
  return Object.entries(KINDS)
    .map(([kind, { what }]) => `${kind.padEnd(19)} ${what}`)
    .join("\n");
}

const ENDING = `

It changes nothing without --fix. A line of the list is a uuid, whatever follows
it; or JSON as for kit resources import, which can then be imported. With a list,
of more than 500 resources the platform is asked about those alone that it lacks.
Exit code 0: no difference, and all was compared; 1: otherwise.`;

function rate(text: string): number {
  if (/^\d{1,3}(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new UsedWrongly(`"${text}" is not a number of resources a second.`);
}

function linesOf({ host: { stdin: input }, endProgress }: Session, signal: AbortSignal) {
  if (input.isTTY) endProgress();
  return createInterface({ input, signal, crlfDelay: Infinity });
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
  refuseWave(kind, found.length + (findings.unnamed()[kind] ?? 0), comparison);
  if (!yes) {
    session.say(blockOf(session.paint(), kind, found));
    await session.confirm(`${counted(found.length, "resource")}: ${KINDS[kind].fix}`);
  }
  const report = await carryOut(ctx, kind, found, session.how());
  const done = new Set(report.done);
  findings.keep((each) => each.kind !== kind || !done.has(each.uuid));
  return report;
}

function outcomeOf({ findings, checked, next }: Comparison, fixed: Report | null): Outcome {
  const differences = findings.named().map(differenceOf);
  const unnamed = Object.entries(findings.unnamed());
  const isWhole = findings.faults().length === 0 && next === null;
  const count = unnamed.reduce((sum, [, more]) => sum + more, differences.length);
  const sum = [
    `${counted(checked, "resource")} of ours compared, ${counted(count, "difference")}`,
    ...(fixed
      ? [`${fixed.done.length} fixed, ${fixed.failed.length} failed, ${fixed.skipped.length} skipped`]
      : []),
  ].join("; ");
  const notes = [
    ...findings.notes(),
    ...unnamed.map(
      ([kind, more]) =>
        `${more} more of ${kind} are counted, and not named: run it again after the first are dealt with.`,
    ),
    ...(findings.young() > 0
      ? [
          `${counted(findings.young(), "resource")} came or went too lately to tell; look again in ten minutes.`,
        ]
      : []),
  ];
  return {
    data: {
      ...{
        checked,
        differences,
        fixed: fixed?.done.length ?? 0,
        isWhole,
        next,
        notes,
        faults: findings.faults(),
      },
      ...(unnamed.length > 0 && { unnamed: findings.unnamed() }),
      ...(fixed && { failed: fixed.failed, skipped: fixed.skipped }),
    },
    message: `${sum}.`,
    exitCode: count === 0 && isWhole && (fixed?.failed.length ?? 0) === 0 ? DONE : FAILED,
    show: (paint) =>
      [
        ...blocks(paint, findings.named()),
        ...(fixed ? [marked(paint, endsInWords(fixed))] : []),
        marked(
          paint,
          [...notes.map((each) => `! ${each}`), ...findings.faults().map((each) => `✗ ${each}`)].join("\n"),
        ),
        ...(next === null ? [] : [`Stopped. To go on: kit reconcile --after ${next}`]),
        `${sum}.`,
      ]
        .filter(Boolean)
        .join("\n"),
  };
}

function endsInWords({ failed, skipped, left = 0 }: Report): string {
  return [
    ...some(failed, ({ uuid, message }) => `✗ ${uuid}  ${message}`),
    ...some(skipped, ({ uuid, reason }) => `– ${uuid}  skipped: ${reason}`),
    ...(left > 0 ? [`Stopped: ${counted(left, "resource")} left; run it again.`] : []),
  ].join("\n");
}

function blocks(paint: Paint, found: readonly Found[]): string[] {
  const kinds = Object.keys(KINDS) as Kind[];
  return kinds.flatMap((kind) => {
    const of = found.filter((each) => each.kind === kind);
    return of.length > 0 ? [`${blockOf(paint, kind, of)}\n`] : [];
  });
}

/** On a terminal of 80 columns. */
const WIDEST = 20;
const cut = (text: string | null) =>
  text === null ? "–" : text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;

function blockOf(paint: Paint, kind: Kind, found: readonly Found[]): string {
  const rows = found
    .slice(0, MOST_SHOWN)
    .map(({ uuid, ours, theirs }) => ({ uuid, ours: cut(ours), theirs: cut(theirs) }));
  const more = found.length > MOST_SHOWN ? [`… and ${found.length - MOST_SHOWN} more: --json has them`] : [];
  const [only] = found;
  const cure = KINDS[kind].cure(found.length === 1 ? only!.uuid : "UUID");
  return [
    paint.bold(`${kind}: ${found.length}, ${KINDS[kind].what}`),
    table(paint, rows),
    ...more,
    paint.cyan(`→ ${safe(cure)}`),
  ].join("\n");
}
