import { groups } from "../rules/index.ts";
import { countOf, isFit, outcomeOf, type Report } from "./report.ts";

/** The report as one JSON document, for machines. */
export function jsonReport(report: Report) {
  return {
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
    rules: report.verdicts.map((verdict) => {
      const { id, title, severity, section, mend } = verdict.rule;
      const group = groups.find(({ rules }) => rules.includes(verdict.rule))!.title;
      return {
        id,
        title,
        group,
        severity,
        section,
        outcome: outcomeOf(verdict),
        reason: verdict.reason,
        mend,
        ms: verdict.ms,
      };
    }),
  };
}
