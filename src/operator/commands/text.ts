import type { NamedFact } from "../resource-facts.ts";
import { ISO_TIME, momentAway } from "../wording.ts";
import type { Screen } from "./host.ts";
export { counted } from "../wording.ts";

/** Characters that move the cursor, change colours or reverse the direction of text. */
const ACTING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Makes one line of text from elsewhere safe for a terminal: control characters are written as \u001b. */
export function safe(text: string): string {
  return text.replace(ACTING, escaped);
}

/** The same for several lines; the second and later ones are indented by `indent`. */
export function safeLines(text: string, indent = ""): string {
  return text.split("\n").map(safe).join(`\n${indent}`);
}

/** A JSON document without control characters that act on a terminal; JSON itself escapes only some of them. */
export function jsonText(data: unknown, indent?: number): string {
  return JSON.stringify(data, null, indent).replace(ACTING, (letter) =>
    letter === "\n" ? letter : escaped(letter),
  );
}

/** Records as a table: a dim header, then one line for each; an empty column is left out. */
export function table({ paint }: Screen, records: readonly Readonly<Record<string, string>>[]): string {
  const titles = Object.keys(records[0] ?? {}).filter((title) => records.some((each) => each[title]));
  const rows = records.map((record) => titles.map((title) => safe(record[title] ?? "")));
  const widths = titles.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join("  ")
      .trimEnd();
  return [paint.dim(line(titles).toUpperCase()), ...rows.map(line)].join("\n");
}

/** Names and their facts, one below the other. `now` is that of the clock that wrote the times. */
export function facts({ paint }: Screen, named: readonly NamedFact[], now?: number): string {
  const width = Math.max(0, ...named.map(([name]) => name.length));
  return named
    .map(([name, fact]) => {
      const text = ISO_TIME.test(String(fact)) ? momentAway(String(fact), now) : String(fact ?? "");
      const shown = safeLines(text, " ".repeat(width + 4)) || "–";
      return `  ${paint.dim(name.toLowerCase().padEnd(width))}  ${shown}`;
    })
    .join("\n");
}

export const example = (line: string) => `\nExample:\n  $ ${line}`;
