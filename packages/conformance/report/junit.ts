import junit, { type Builder } from "junit-report-builder";
import { groups } from "../rules/index.ts";
import { outcomeOf, type Report, UNJUDGED } from "./report.ts";

/** The default export is the builder itself in Node, although its types say otherwise. */
const BUILDER = junit as unknown as Builder;

/** The report of a run that came to no verdict, so that a CI server does not show an older one. */
export function junitOfFailure(message: string): string {
  const report = BUILDER.newBuilder();
  report.testSuite().name("Conformance").testCase().name("The service can be checked").error(message);
  return report.build();
}

/** The report for a CI server: a suite for each group, a case for each rule. Warnings are not failures. */
export function junitReport({ verdicts }: Report): string {
  const report = BUILDER.newBuilder();
  for (const group of groups) {
    const own = verdicts.filter(({ rule }) => group.rules.includes(rule));
    if (own.length === 0) continue;
    const suite = report.testSuite().name(group.title);
    for (const verdict of own) {
      const { rule, reason, ms } = verdict;
      const test = suite
        .testCase()
        .className(`conformance.${group.title}`)
        .name(`${rule.id} ${rule.title}`)
        .time(ms / 1000);
      const outcome = outcomeOf(verdict);
      if (outcome === "broken") test.failure(`${reason} ${rule.mend} (${rule.section})`, rule.severity);
      if (outcome === "warning") test.standardOutput(`${reason} ${rule.mend} (${rule.section})`);
      if (outcome === "checker_failed") test.error(reason ?? "", "checker");
      const unjudged = UNJUDGED[outcome];
      if (unjudged && outcome !== "checker_failed") test.skipped();
      if (unjudged) test.standardOutput(`${unjudged}: ${reason}`);
    }
  }
  return report.build();
}
