import { stripVTControlCharacters } from "node:util";
import type { Screen } from "./screen.ts";
import { safe, wrapped } from "./text.ts";

export interface Column<Row> {
  title: string;
  of(row: Row): string;
  /** Changes the finished cell, for colours. */
  paint?(text: string, row: Row): string;
  /** May be shortened on a narrow screen, the last such column first. */
  canShrink?: boolean;
}

const GAP = "  ";
const LEAST_WIDTH = 6;

/** A table that fits the screen: a dim header, then one line for each row. */
export function table<Row>(
  { columns, paint }: Screen,
  shape: readonly Column<Row>[],
  rows: readonly Row[],
): string {
  const cells = rows.map((row) => shape.map((column) => safe(column.of(row))));
  const widths = shape.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((row) => row[index]!.length)),
  );
  for (let index = shape.length - 1; index >= 0; index--) {
    const excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (shape.length - 1) - columns;
    if (excess > 0 && shape[index]!.canShrink) {
      widths[index] = Math.max(widths[index]! - excess, LEAST_WIDTH);
    }
  }
  const line = (parts: string[]) => parts.join(GAP).trimEnd();
  const head = paint.dim(line(shape.map(({ title }, index) => fit(title, widths[index]!))));
  const body = rows.map((row, at) =>
    line(
      shape.map((column, index) => {
        const cell = fit(cells[at]![index]!, widths[index]!);
        return column.paint ? column.paint(cell, row) : cell;
      }),
    ),
  );
  return [head, ...body].join("\n");
}

/** Names and their values, one below the other, indented. */
export function members(
  { columns, paint }: Screen,
  pairs: readonly (readonly [name: string, value: string])[],
): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  const indent = " ".repeat(width + 2 * GAP.length);
  // Values are not cut, because the missing part may be what the reader needs.
  const hung = (value: string) => wrapped(broken(value, columns - indent.length), columns, indent);
  return pairs
    .map(([name, value]) => `${GAP}${paint.dim(name.padEnd(width))}${GAP}${hung(value)}`)
    .join("\n");
}

function fit(text: string, width: number): string {
  return shortened(text, width).padEnd(width);
}

/** Breaks words that are too long for a line by inserting spaces. */
function broken(text: string, room: number): string {
  return text.replaceAll(new RegExp(`\\S{${room}}(?=\\S)`, "g"), "$& ");
}

export function shortened(text: string, width: number): string {
  if (stripVTControlCharacters(text).length <= width) return text;
  return `${text.slice(0, Math.max(width - 1, 1))}…`;
}
