import type { Screen } from "./host.ts";
import { momentAway, safe, wrapped } from "./text.ts";

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
  const widths = titles.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)));
  const isWhole = titles.map((_, at) => rows.some((row) => WHOLE.test(row[at]!)));
  for (
    let excess = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - columns;
    excess > 0;
  ) {
    const at = widths.reduce(
      (most, width, each) => (!isWhole[each] && width > (widths[most] ?? 0) ? each : most),
      -1,
    );
    const room = (widths[at] ?? 0) - LEAST_WIDTH;
    if (room <= 0) break;
    widths[at]! -= Math.min(room, excess);
    excess -= Math.min(room, excess);
  }
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => shortened(cell, widths[at]!).padEnd(widths[at]!));
  const head = paint.dim(
    line(titles.map((title) => title.toUpperCase()))
      .join(GAP)
      .trimEnd(),
  );
  return [head, ...rows.map((row) => line(row).map(shade).join(GAP).trimEnd())].join("\n");
}

export function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(width - 1, 1))}…`;
}

/** A fact for people; none is shown as a dash, and a time with its distance from now. */
export type Fact = string | number | null | undefined | readonly string[];

/** Names and their values, one below the other, indented. `now` is that of the clock that wrote the times. */
export function members(
  { columns, paint }: Screen,
  facts: Readonly<Record<string, Fact>> | readonly (readonly [name: string, fact: Fact])[],
  now?: number,
): string {
  const pairs = (Array.isArray(facts) ? facts : Object.entries(facts)) as [string, Fact][];
  const width = Math.max(...pairs.map(([name]) => name.length));
  const indent = " ".repeat(width + 2 * GAP.length);
  return pairs
    .map(
      ([name, fact]) =>
        `${GAP}${paint.dim(name.padEnd(width))}${GAP}${wrapped(inWords(fact, now), columns, indent)}`,
    )
    .join("\n");
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function inWords(fact: Fact, now?: number): string {
  const text = Array.isArray(fact) ? fact.join(", ") : String(fact ?? "");
  if (ISO_TIME.test(text)) return momentAway(text, now);
  return text.split("\n").map(safe).join("\n") || "–";
}
