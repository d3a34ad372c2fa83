import { stripVTControlCharacters as plain } from "node:util";

/**
 * A line as lines of at most so many columns, broken between words. Those that follow begin where the text of the first one
 * does, after its mark, name or indent.
 */
export function wrapped(line: string, columns: number): string[] {
  if (plain(line).length <= columns) return [line];
  const { index = 0, 0: gap = "" } = / {2,}/.exec(plain(line)) ?? {};
  const indent = Math.min(index + gap.length, Math.floor(columns / 2));
  const lines: string[] = [];
  let [current, width] = ["", 0];
  for (const word of line.split(/(?<= )/)) {
    if (width > indent && width + plain(word).trimEnd().length > columns) {
      lines.push(current.trimEnd());
      [current, width] = [" ".repeat(indent), indent];
    }
    current += word;
    width += plain(word).length;
  }
  return [...lines, current];
}

/** How many rows these lines take on a terminal, which breaks what is longer. */
export const rowsOf = (lines: readonly string[], columns: number): number =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(plain(line).length / columns)), 0);
