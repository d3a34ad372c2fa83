import type { Verdict } from "../judge.ts";

/** What came of a run, as all forms of the report tell it. */
export interface Report {
  url: string;
  verdicts: readonly Verdict[];
  ms: number;
  /** The resources that the service would not let go. */
  left: readonly string[];
}

/** How a verdict counts: only a broken must-rule makes a service unfit. */
export type Outcome = "passed" | "broken" | "warning" | "skipped" | "not_applicable" | "checker_failed";

/** What stands before the reason why nothing is said. */
export const UNJUDGED: Partial<Record<Outcome, string>> = {
  skipped: "Skipped",
  not_applicable: "Not applicable",
  checker_failed: "Could not be judged",
};

export function outcomeOf({ status, rule }: Verdict): Outcome {
  if (status !== "failed") return status;
  return rule.severity === "must" ? "broken" : "warning";
}

export function countOf({ verdicts }: Report, outcome: Outcome): number {
  return verdicts.filter((verdict) => outcomeOf(verdict) === outcome).length;
}

/** Whether anything can be said of the service at all. */
export function isJudged({ verdicts }: Report): boolean {
  return verdicts.some((verdict) => !(outcomeOf(verdict) in UNJUDGED));
}

/** Whether the checker itself came to the end of each rule. Where not, the service is neither fit nor unfit. */
export function isWhole(report: Report): boolean {
  return countOf(report, "checker_failed") === 0;
}

/** Fit: no must-rule is broken, something was judged, and the checker did not fail at any. */
export function isFit(report: Report): boolean {
  return countOf(report, "broken") === 0 && isJudged(report) && isWhole(report);
}
