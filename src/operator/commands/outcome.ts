import { CommanderError } from "commander";
import { isTransient } from "../../database/database.ts";
import { errorIdOf, KitError, messageOf } from "../../errors.ts";
import { adviceOn } from "../wording.ts";
import { isWhole, reportInWords, type Report } from "../work-through.ts";
import type { Screen } from "./host.ts";
import { safeLines } from "./text.ts";

export const DONE = 0;
export const FAILED = 1;
export const MISCONFIGURED = 78;
const EXIT_CODES: Readonly<Record<string, number>> = {
  ...{ used_wrongly: 2, invalid_path: 2, foreign_resource: 2 },
  misconfigured: MISCONFIGURED,
};

/** The result of a command: one JSON document, and the same as text for people, without the last line end. */
export interface Outcome {
  data: unknown;
  show(screen: Screen): string;
  /** What came of it, without secrets, for the audit trail. */
  message?: string;
  /** The lines say why there is no result: they go to standard error. */
  isComplaint?: boolean;
  /** 0 by default; 1 if the command ran but its purpose failed. */
  exitCode?: number;
}

/** What to do about an end whose own message, or word, does not say it, by its id. */
const NEXT: Readonly<Record<string, string>> = {
  under_way: "Its last rotation has not reached the app: kit resources show UUID says what it waits for.",
  overlap:
    "What the last rotation replaced is not retired yet, and the app has the new ones. kit rotate UUID, by name, retires the old ones at once.",
};

const nextStep = (id: string, reason?: unknown) => NEXT[id] ?? adviceOn(id, reason)?.todo ?? null;

/** A failure as the outcome that a command has then, with `{id, message}` as data; `scrub` takes secrets out. */
export function failureOf(error: unknown, scrub: (text: string) => string): Outcome & { message: string } {
  const [id, text] = described(error);
  const message = scrub(text);
  const next = nextStep(id, (Object(error) as { reason?: unknown }).reason);
  return {
    ...{ message, data: { id, message }, isComplaint: true, exitCode: EXIT_CODES[id] ?? FAILED },
    show: ({ paint }) =>
      [`${paint.red("✗")} ${safeLines(message, "  ")}`, ...(next ? [`  ${paint.dim(next)}`] : [])].join("\n"),
  };
}

function described(error: unknown): [id: string, message: string] {
  const message = messageOf(error);
  if (error instanceof CommanderError) return ["used_wrongly", message.replace(/^error: /, "")];
  if (!(error instanceof KitError) && isTransient(error))
    return ["database_unavailable", `The database does not answer: ${message}`];
  const id = errorIdOf(error);
  const { cause } = Object(error) as { cause?: unknown };
  return [id, id === "database_unavailable" && cause ? `${message} (${messageOf(cause)})` : message];
}

/** The outcome of work on many resources, and what to do next; `doneWord` names the success. */
export function bulkOutcome(report: Report, doneWord: string): Outcome {
  const ids = [...report.failed.map(({ id }) => id), ...report.skipped.map(({ reason }) => reason)];
  const advice = [...new Set(ids.map((id) => nextStep(id)))].filter((each) => each !== null);
  const text = reportInWords(report, doneWord);
  return {
    data: report,
    message: text.split("\n").at(-1)!,
    exitCode: isWhole(report) ? DONE : FAILED,
    show: (screen) => [onScreen(screen, text), ...advice.map(screen.paint.dim)].join("\n"),
  };
}

/** Lines that may hold text from elsewhere, made safe, with their marks in colour. */
export function onScreen({ paint }: Screen, text: string): string {
  return safeLines(text).replace(/^✗/gm, paint.red("✗")).replace(/^[–!]/gm, paint.yellow);
}
