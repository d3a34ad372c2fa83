import { CURES, type Cures, differenceOf, type Found, type Kind, KINDS } from "../reconcile/differences.ts";
import type { Comparison } from "../reconcile/reconcile.ts";
import { counted, MOST_SHOWN, some } from "../wording.ts";
import type { Report } from "../work-through.ts";
import type { Paint } from "./host.ts";
import { inputLines } from "./lines.ts";
import { DONE, FAILED, marked, type Outcome, safe, table } from "./outcome.ts";
import type { Session } from "./session.ts";

// How a comparison of the ledgers is begun and shown.

/** The lines of the platform's list, on standard input. */
export function linesOf({ host: { stdin: input }, endProgress }: Session, signal: AbortSignal) {
  if (input.isTTY) endProgress();
  return inputLines(input, signal);
}

export function outcomeOf(
  { findings, checked, next }: Comparison,
  fixed: Report | null,
  cures: Cures = CURES,
): Outcome & { data: { differences: readonly object[]; [more: string]: unknown } } {
  const differences = findings.named().map((found) => differenceOf(found, cures));
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
      checked,
      differences,
      fixed: fixed?.done.length ?? 0,
      isWhole,
      next,
      notes,
      faults: findings.faults(),
      ...(unnamed.length > 0 && { unnamed: findings.unnamed() }),
      ...(fixed && { failed: fixed.failed, skipped: fixed.skipped }),
    },
    message: `${sum}.`,
    exitCode: count === 0 && isWhole && (fixed?.failed.length ?? 0) === 0 ? DONE : FAILED,
    show: (paint) =>
      [
        ...blocks(paint, findings.named(), cures),
        ...(fixed ? [marked(paint, endsInWords(fixed))] : []),
        marked(
          paint,
          [...notes.map((each) => `! ${each}`), ...findings.faults().map((each) => `✗ ${each}`)].join("\n"),
        ),
        ...(next === null ? [] : [`Stopped. To continue: kit reconcile --after ${next}`]),
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

function blocks(paint: Paint, found: readonly Found[], cures: Cures): string[] {
  return [...cures.keys()].flatMap((kind) => {
    const of = found.filter((each) => each.kind === kind);
    return of.length > 0 ? [`${blockOf(paint, kind, of, cures)}\n`] : [];
  });
}

/** On a terminal of 80 columns. */
const WIDEST = 20;
const cut = (text: string | null) =>
  text === null ? "–" : text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;

export function blockOf(paint: Paint, kind: Kind, found: readonly Found[], cures: Cures = CURES): string {
  const rows = found
    .slice(0, MOST_SHOWN)
    .map(({ uuid, ours, theirs }) => ({ uuid, ours: cut(ours), theirs: cut(theirs) }));
  const more = found.length > MOST_SHOWN ? [`… and ${found.length - MOST_SHOWN} more: --json has them`] : [];
  const [only] = found;
  const cure = cures.get(kind)!(found.length === 1 ? only!.uuid : "UUID");
  return [
    paint.bold(`${kind}: ${found.length}, ${KINDS[kind].what}`),
    table(paint, rows),
    ...more,
    paint.cyan(`→ ${safe(cure)}`),
  ].join("\n");
}
