import type { Rule } from "../rule.ts";
import { groups } from "../rules/index.ts";
import { sourceOf } from "../sections.ts";
import { countOf, isFit, isStopped, optionsNotGiven, outcomeOf, type Report, stopped } from "./report.ts";

/** The report as one JSON document, for machines. */
export function jsonReport(report: Report) {
  return {
    ...(isStopped(report) && { id: "interrupted", message: stopped(report) }),
    ok: isFit(report),
    service: report.url,
    ms: report.ms,
    left: report.left,
    passed: countOf(report, "passed"),
    broken: countOf(report, "broken"),
    warnings: countOf(report, "warning"),
    skipped: countOf(report, "skipped"),
    notApplicable: countOf(report, "not_applicable"),
    checkerFailed: countOf(report, "checker_failed"),
    notGiven: optionsNotGiven(report),
    rules: report.verdicts.map((verdict) => {
      const { mend, ...rule } = told(verdict.rule);
      const { reason, broken = null, ms } = verdict;
      return { ...rule, outcome: outcomeOf(verdict), reason, because: broken, mend, ms };
    }),
  };
}

/** The rules as one JSON document, without verdicts. */
export function rulesJson(rules: readonly Rule[]) {
  return { rules: rules.map(told) };
}

function told(rule: Rule) {
  const { id, title, severity, section, mend } = rule;
  const group = groups.find(({ rules }) => rules.includes(rule))!.title;
  return { id, title, group, severity, section, source: sourceOf(section), mend };
}
