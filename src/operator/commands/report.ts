import { UsedWrongly, typedUuid } from "../errors.ts";
import { isWhole, reportInWords, type Report } from "../work-through.ts";
import type { Screen } from "./host.ts";
import { DONE, FAILED, nextStep, type Outcome } from "./outcome.ts";
import { safe, wrapped } from "./text.ts";

/** The uuids of the named resources in canonical form, or "all". Throws `UsedWrongly` if both are given, or neither. */
export function namesOrAll(typed: readonly string[], { all = false }: { all?: boolean }): string[] | "all" {
  if (all === typed.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
  return all ? "all" : typed.map(typedUuid);
}

/** The outcome of work on many resources; `doneWord` names the success. */
export function bulkOutcome(report: Report, doneWord: string): Outcome {
  return {
    data: report,
    exitCode: isWhole(report) ? DONE : FAILED,
    show: (screen) => bulkText(screen, report, doneWord),
  };
}

/** A report as {@link reportInWords} says it, and what to do next. */
export function bulkText(screen: Screen, report: Report, doneWord: string): string {
  const ids = [...report.failed.map(({ id }) => id), ...report.skipped.map(({ reason }) => reason)];
  const advice = [...new Set(ids.map((id) => nextStep(id)))].filter((each) => each !== null);
  const told = advice.map((each) => screen.paint.dim(wrapped(each, screen.columns)));
  return [onScreen(screen, reportInWords(report, doneWord)), ...told].join("\n");
}

/** Lines that may hold text from elsewhere, made safe and broken to fit the screen. */
export function onScreen({ columns, paint }: Screen, text: string): string {
  const marked = (line: string) => line.replace(/^✗/, paint.red("✗")).replace(/^[–!]/, paint.yellow);
  return text
    .split("\n")
    .map((line) => marked(wrapped(safe(line), columns, "    ")))
    .join("\n");
}
