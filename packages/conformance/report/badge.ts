import { countOf, isFit, isJudged, isStopped, isWhole, type Report } from "./report.ts";

/** The result for a badge: the JSON document that an endpoint of shields.io has. */
export function badge(report: Report): string {
  const [passed, broken] = [countOf(report, "passed"), countOf(report, "broken")];
  if (broken > 0) return document(`${broken} broken`, "red");
  if (!isJudged(report) || !isWhole(report) || isStopped(report)) return badgeOfFailure();
  return document(
    `${passed} rules`,
    isFit(report) && countOf(report, "warning") === 0 ? "brightgreen" : "green",
  );
}

/** The badge of a run that came to no verdict. */
export const badgeOfFailure = () => document("not checked", "lightgrey");

const document = (message: string, color: string) =>
  JSON.stringify({ schemaVersion: 1, label: "add-on conformance", message, color });
