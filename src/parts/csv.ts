type CsvCell = string | number | bigint | boolean | Date | null;

/**
 * A table as CSV (RFC 4180), such as a download's content. A text that a spreadsheet would run as a formula, because it begins
 * with `=`, `+`, `-`, `@`, a tab or a line break, gets an apostrophe before it: what customers, or their users, have named
 * is opened on somebody's desk. Numbers stay as they are; a time is ISO 8601, null is an empty cell.
 */
export function csv(titles: readonly string[], rows: readonly (readonly CsvCell[])[]): string {
  return [titles, ...rows].map((row) => `${row.map(inCell).join(",")}\r\n`).join("");
}

function inCell(cell: CsvCell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return cell instanceof Date ? cell.toISOString() : String(cell);
  // A spreadsheet may skip blanks, and take the wide forms of these signs for them.
  const safe = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n\t;']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
