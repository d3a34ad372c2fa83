import type { NamedFact } from "../resource-facts.ts";
import { ISO_TIME, momentAway } from "../wording.ts";
import type { Screen } from "./host.ts";
import { safe, wrapped } from "./text.ts";

const GAP = "  ";
const LEAST_WIDTH = 6;
/** Ids are copied, and stay whole. */
const WHOLE = /^[0-9a-f-]{16,36}$/;

/**
 * Records as a table that fits the screen: a dim header of their names, then one line for each. On a narrow screen the
 * widest columns are shortened. `shade` colours a finished cell by its text.
 */
export function table(
  { columns, paint }: Screen,
  records: readonly Readonly<Record<string, string>>[],
  shade = (text: string) => text,
): string {
  const titles = Object.keys(records[0] ?? {});
  const rows = records.map((record) => titles.map((title) => safe(record[title] ?? "")));
  const cells = titles.map((title, at) => [title, ...rows.map((row) => row[at]!)]);
  const widths = cells.map((column) => Math.max(...column.map(({ length }) => length)));
  const mayShrink = (at: number) => widths[at]! > LEAST_WIDTH && !cells[at]!.some((cell) => WHOLE.test(cell));
  for (;;) {
    const isTooWide = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) > columns;
    const [widest] = [...widths.keys()].filter(mayShrink).sort((one, other) => widths[other]! - widths[one]!);
    if (!isTooWide || widest === undefined) break;
    widths[widest]! -= 1;
  }
  const line = (row: readonly string[], colour: (text: string) => string) =>
    row
      .map((cell, at) => colour(shortened(cell, widths[at]!).padEnd(widths[at]!)))
      .join(GAP)
      .trimEnd();
  const head = paint.dim(
    line(
      titles.map((title) => title.toUpperCase()),
      String,
    ),
  );
  return [head, ...rows.map((row) => line(row, shade))].join("\n");
}

export function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(width - 1, 1))}…`;
}

/**
 * Names and their facts, one below the other, indented: none is shown as a dash, and a time with its distance from now.
 * `now` is that of the clock that wrote the times.
 */
export function facts({ columns, paint }: Screen, named: readonly NamedFact[], now?: number): string {
  const width = Math.max(0, ...named.map(([name]) => name.length));
  const indent = " ".repeat(width + 2 * GAP.length);
  return named
    .map(([name, fact]) => {
      const text = ISO_TIME.test(String(fact)) ? momentAway(String(fact), now) : String(fact ?? "");
      const shown = text.split("\n").map(safe).join("\n") || "–";
      return `${GAP}${paint.dim(name.toLowerCase().padEnd(width))}${GAP}${wrapped(shown, columns, indent)}`;
    })
    .join("\n");
}

/** Texts below their titles; an empty one is left out. */
export function sections({ paint }: Screen, texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .flatMap(([title, text]) => (text === "" ? [] : [paint.bold(title), text]))
    .join("\n");
}
