import { stripVTControlCharacters } from "node:util";
import type { createColors } from "picocolors";
import type { Verdict } from "../rule.ts";
import { groups } from "../rules/index.ts";
import {
  countOf,
  howToJudgeMore,
  isFit,
  isJudged,
  isStopped,
  isWhole,
  type Outcome,
  outcomeOf,
  type Report,
  stopped,
  UNJUDGED,
} from "./report.ts";

export type Paint = ReturnType<typeof createColors>;

const COLUMNS = 80;
const INDENT = "      ";

/**
 * The report for people, in 80 columns. A broken rule has the reason, what to do about it, and the section that demands
 * it.
 */
export function humanReport(report: Report, paint: Paint): string {
  const parts = groups.map(({ title, rules }) => {
    const own = report.verdicts.filter(({ rule }) => rules.includes(rule));
    if (own.length === 0) return "";
    return [paint.bold(title), ...inGroup(own, paint), ""].join("\n");
  });
  return [...parts.filter((part) => part !== ""), ending(report, paint)].join("\n");
}

/** Each rule of a group; those that could not be judged for the same reason are one line, after the others. */
function inGroup(verdicts: readonly Verdict[], paint: Paint): string[] {
  const alike = new Map<string, Verdict[]>();
  for (const verdict of verdicts) {
    if (verdict.status !== "skipped" && verdict.status !== "not_applicable") continue;
    const reason = `${verdict.status} ${verdict.reason}`;
    alike.set(reason, [...(alike.get(reason) ?? []), verdict]);
  }
  const lines = [...alike.values()].filter(({ length }) => length > 1);
  const alone = verdicts.filter((verdict) => !lines.some((line) => line.includes(verdict)));
  return [
    ...alone.map((verdict) => told(verdict, paint)),
    ...lines.map((line) => {
      const { status, reason } = line[0]!;
      const why = status === "not_applicable" ? "not applicable" : "skipped";
      const text = `${idsOf(line, verdicts)}: ${why}: ${safe(reason ?? "")}`;
      return paint.dim(`  – ${wrapped(text, " ".repeat(4))}`);
    }),
  ];
}

/** The ids of some rules of a group, those that follow each other as `A to B`. */
function idsOf(some: readonly Verdict[], group: readonly Verdict[]): string {
  const runs: Verdict[][] = [];
  for (const verdict of some) {
    const last = runs.at(-1);
    if (last && group.indexOf(verdict) === group.indexOf(last.at(-1)!) + 1) last.push(verdict);
    else runs.push([verdict]);
  }
  return runs
    .map((run) => (run.length === 1 ? run[0]!.rule.id : `${run[0]!.rule.id} to ${run.at(-1)!.rule.id}`))
    .join(", ");
}

const MARKS: Record<Outcome, (paint: Paint) => string> = {
  passed: (paint) => paint.green("✓"),
  broken: (paint) => paint.red("✗"),
  warning: (paint) => paint.yellow("!"),
  skipped: (paint) => paint.dim("–"),
  not_applicable: (paint) => paint.dim("–"),
  checker_failed: (paint) => paint.yellow("?"),
};

function told(verdict: Verdict, paint: Paint): string {
  const { rule, reason } = verdict;
  const outcome = outcomeOf(verdict);
  const head = `  ${MARKS[outcome](paint)} ${rule.id.padEnd(9)}${wrapped(rule.title, " ".repeat(13))}`;
  if (outcome === "passed") return head;
  const unjudged = UNJUDGED[outcome];
  if (unjudged) return `${head}\n${paint.dim(block(`${unjudged}: ${reason}`))}`;
  const colour = outcome === "broken" ? paint.red : paint.yellow;
  return [
    head,
    colour(block(reason ?? "")),
    block(`→ ${rule.mend}`),
    paint.dim(block(`(${rule.section})`)),
  ].join("\n");
}

function ending(report: Report, paint: Paint): string {
  const counts = [
    `${countOf(report, "passed")} passed`,
    `${countOf(report, "broken")} broken`,
    `${countOf(report, "warning")} should be better`,
    `${countOf(report, "skipped")} skipped`,
    `${countOf(report, "not_applicable")} not applicable`,
    ...(isWhole(report) ? [] : [`${countOf(report, "checker_failed")} where the checker failed`]),
  ].join(", ");
  const verdict = isFit(report)
    ? paint.green("Every must-rule that could be judged holds.")
    : paint.red(unfit(report));
  const broken = report.verdicts.filter((each) => outcomeOf(each) === "broken").map(({ rule }) => rule.id);
  const recap = broken.length > 0 ? [wrapped(`Broken: ${broken.join(", ")}.`, "")] : [];
  const line = wrapped(`${report.url}: ${counts}, in ${Math.round(report.ms / 1000)} s.`, "");
  const more = howToJudgeMore(report);
  const hint = more === null ? [] : [wrapped(more, "")];
  return [verdict, ...recap, ...hint, ...leftBehind(report.left), paint.dim(line)].join("\n");
}

function unfit(report: Report): string {
  if (isStopped(report)) return stopped(report);
  if (countOf(report, "broken") > 0) return "The service is not fit for the platform yet.";
  return isWhole(report) || !isJudged(report)
    ? "Nothing could be judged."
    : "Not all could be judged: the checker failed.";
}

const MOST_TOLD = 5;

/** Resources that the run could not deprovision; their owner has to know. */
export function leftBehind(left: readonly string[]): string[] {
  if (left.length === 0) return [];
  const told = left.slice(0, MOST_TOLD).map(safe).join(", ");
  const more = left.length > MOST_TOLD ? `, and ${left.length - MOST_TOLD} more` : "";
  return [wrapped(`Left at your service, which did not let go of them: ${told}${more}.`, "")];
}

/** An indented paragraph below a rule. */
const block = (text: string) => INDENT + wrapped(safe(text), INDENT);

/**
 * Breaks a text between words; every line but the first gets `indent`, and the first is as far to the right already.
 */
function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= COLUMNS - indent.length)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${indent}`);
}

/** Text from a service must not control the terminal. */
function safe(text: string): string {
  // eslint-disable-next-line no-control-regex
  return stripVTControlCharacters(text).replace(/[\u0000-\u001f\u007f]/g, "?");
}
