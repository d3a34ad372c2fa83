import { CommanderError } from "commander";
import { isDatabaseUnreachable, slownessOf } from "../../database/retry.ts";
import { errorIdOf, messageOf } from "../../errors.ts";
import { visible } from "../../marks.ts";
import type { AuditEntry } from "../audit.ts";
import { isWhole, type Report, reportInWords } from "../report.ts";
import { ISO_TIME, moment, momentAway, type NamedFact } from "../wording.ts";
import type { Paint } from "./host.ts";

export const DONE = 0;
export const FAILED = 1;
export const USED_WRONGLY = 2;
export const MISCONFIGURED = 78;
const EXIT_CODES: Readonly<Record<string, number>> = {
  used_wrongly: USED_WRONGLY,
  invalid_path: USED_WRONGLY,
  foreign_resource: USED_WRONGLY,
  misconfigured: MISCONFIGURED,
};

/** The result of a command: one JSON document, and the same as text for people, without the last line end. */
export interface Outcome {
  data: unknown;
  show(paint: Paint): string;
  /** What came of it, without secrets, for the audit trail. */
  message?: string;
  /** All of it was written while the command ran. */
  isWritten?: boolean;
  /** On a terminal its lines are broken between words. */
  isProse?: boolean;
  /** The lines say why there is no result: they go to standard error. */
  isComplaint?: boolean;
  /** 0 by default; 1 if the command ran but its purpose failed. */
  exitCode?: number;
}

/** A failure as the outcome that a command has then, with `{id, message}` as data; `scrub` takes secrets out. */
export function failureOf(error: unknown, scrub: (text: string) => string): Outcome & { message: string } {
  const [id, text] = described(error);
  const message = scrub(text);
  return {
    message,
    data: { id, message },
    isComplaint: true,
    exitCode: EXIT_CODES[id] ?? FAILED,
    show: (paint) => `${paint.red("✗")} ${safeLines(message, "  ")}`,
  };
}

function described(error: unknown): [id: string, message: string] {
  const message = messageOf(error);
  if (error instanceof CommanderError) return ["used_wrongly", message.replace(/^error: /, "")];
  const slow = slownessOf(error);
  if (slow)
    return [
      "database_slow",
      `The database is slow: ${slow.name} took longer than ${slow.seconds} s. Try again later. Where to look: docs/operate.md, AddonAnswersSlow.`,
    ];
  if (!isDatabaseUnreachable(error)) return [errorIdOf(error), message];
  const { cause = error } = error as Error;
  return [
    "database_unavailable",
    `The database does not answer: ${messageOf(cause)}. What to do: kit doctor`,
  ];
}

/** The outcome of work on many resources; `doneWord` names the success. */
export function bulkOutcome(report: Report, doneWord: string): Outcome {
  const text = reportInWords(report, doneWord);
  return {
    data: report,
    message: text
      .split("\n")
      .slice(report.left ? -2 : -1)
      .join(" "),
    exitCode: isWhole(report) ? DONE : FAILED,
    show: (paint) => marked(paint, text),
  };
}

/** What became of each resource, for JSON lines. */
export const linesOfReport = ({ done, failed, skipped }: Report): object[] => [
  ...done.map((uuid) => ({ uuid, result: "done" })),
  ...failed.map((each) => ({ ...each, result: "failed" })),
  ...skipped.map((each) => ({ ...each, result: "skipped" })),
];

/** Lines that may hold text from elsewhere, made safe, with their marks in colour. */
export function marked(paint: Paint, text: string): string {
  return safeLines(text).replace(/^✗/gm, paint.red("✗")).replace(/^[–!]/gm, paint.yellow);
}

/** Makes one line of text from elsewhere safe for a terminal, and its hidden marks visible. */
export const safe = visible;

/** The same for several lines; the second and later ones are indented by `indent`. */
export function safeLines(text: string, indent = ""): string {
  return text.split("\n").map(safe).join(`\n${indent}`);
}

/** A JSON document without control characters that act on a terminal; JSON itself escapes only some of them. */
export function jsonText(data: unknown, indent?: number): string {
  return safeLines(JSON.stringify(data, null, indent));
}

/**
 * Records as a table: a dim header, then one line for each; an empty column is left out. Counts stand to the right, in
 * all columns but the first.
 */
export function table(
  paint: Paint,
  records: readonly Readonly<Record<string, string>>[],
  areCounts = false,
): string {
  const titles = Object.keys(records[0] ?? {}).filter((title) => records.some((each) => each[title]));
  const rows = records.map((record) => titles.map((title) => safe(record[title] ?? "")));
  const widths = titles.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, at) => {
      const width = widths[at]!;
      return areCounts && at > 0 ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join("  ").trimEnd();
  };
  return [paint.dim(line(titles).toUpperCase()), ...rows.map(line)].join("\n");
}

/** Names and their facts, one below the other. `now` is that of the clock that wrote the times. */
export function facts(paint: Paint, named: readonly NamedFact[], now?: number): string {
  const width = Math.max(0, ...named.map(([name]) => name.length));
  return named
    .map(([name, fact]) => {
      const text = ISO_TIME.test(String(fact)) ? momentAway(String(fact), now) : String(fact ?? "");
      const shown = safeLines(text, " ".repeat(width + 4)) || "–";
      return `  ${paint.dim(name.toLowerCase().padEnd(width))}  ${shown}`;
    })
    .join("\n");
}

/** An entry of the audit trail. */
export function entryText(paint: Paint, entry: AuditEntry): string {
  const { action, uuid, operator, state, message, startedAt, done, total } = entry;
  const who = operator.address === null ? operator.name : `${operator.name} (${operator.address})`;
  const far = state === "running" && total > 0 ? ` ${done} of ${total}` : "";
  const end = state === "done" ? state : paint.red(state + far);
  const below = [who, uuid, message].filter(Boolean).join("; ");
  return `${moment(startedAt.toISOString())}  ${end}  ${paint.bold(safe(action))}\n  ${safe(below)}`;
}

export const example = (line: string) => `\nExample:\n  $ ${line}`;
