import type { Verdict } from "../rule.ts";

/** The result of a run, from which all forms of the report are made. */
export interface Report {
  url: string;
  /** Of the rules that were judged: not of all, if the run was stopped. */
  verdicts: readonly Verdict[];
  /** How many rules have no verdict because the run was stopped. */
  unreached: number;
  ms: number;
  /** The uuids of resources that the service did not deprovision. */
  left: readonly string[];
}

/** How a verdict counts: only a broken must-rule makes a service unfit. */
export type Outcome = "passed" | "broken" | "warning" | "skipped" | "not_applicable" | "checker_failed";

/** Precedes the reason why a rule was not judged. */
export const UNJUDGED: Partial<Record<Outcome, string>> = {
  skipped: "Skipped",
  not_applicable: "Not applicable",
  checker_failed: "Could not be judged",
};

export function outcomeOf({ status, rule, severity }: Verdict): Outcome {
  if (status !== "failed") return status;
  return (severity ?? rule.severity) === "must" ? "broken" : "warning";
}

export function countOf({ verdicts }: Report, outcome: Outcome): number {
  return verdicts.filter((verdict) => outcomeOf(verdict) === outcome).length;
}

/** Whether any rule was judged. */
export function isJudged({ verdicts }: Report): boolean {
  return verdicts.some((verdict) => !(outcomeOf(verdict) in UNJUDGED));
}

/** Whether the run was stopped before each rule had its verdict. */
export const isStopped = ({ unreached }: Report) => unreached > 0;

/** What is to be said of a run that was stopped. */
export const stopped = ({ verdicts: { length }, unreached }: Report) =>
  `Stopped after ${length} of ${length + unreached} rules; the others are not judged.`;

/** Whether the checker itself completed each rule. If not, the service is neither fit nor unfit. */
export function isWhole(report: Report): boolean {
  return countOf(report, "checker_failed") === 0;
}

/** Fit: the run came to its end, no must-rule is broken, at least one rule was judged, and the checker failed at none. */
export function isFit(report: Report): boolean {
  return countOf(report, "broken") === 0 && isJudged(report) && isWhole(report) && !isStopped(report);
}

/** The options that were not given, each with the number of rules that it would have judged, the most first. */
export function optionsNotGiven({ verdicts }: Report): { option: string; rules: number }[] {
  const options = verdicts.flatMap(({ option }) => option ?? []);
  return [...new Set(options)]
    .map((option) => ({ option, rules: options.filter((each) => each === option).length }))
    .sort((one, other) => other.rules - one.rules);
}

/** How to have the rules judged that are not applicable, as a sentence; null if none is for want of an option. */
export function howToJudgeMore(report: Report): string | null {
  const options = optionsNotGiven(report);
  if (options.length === 0) return null;
  const total = options.reduce((sum, { rules }) => sum + rules, 0);
  const named = options.map(({ option, rules }) => `${option} (${rules})`).join(", ");
  return `${total} ${total === 1 ? "rule is" : "rules are"} judged only if you give: ${named}.`;
}
