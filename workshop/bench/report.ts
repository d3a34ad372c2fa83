import { isMet, type Line } from "./works/work.ts";

export const COLUMNS = [
  "work",
  "floor",
  "subject",
  "ratio",
  "of runs",
  "target",
  "p50 ms",
  "p99 ms",
  "CPU µs",
  "MB",
  "",
];

/** The table as text: one row for each line, the first column aligned left and the figures right. */
export function table(lines: readonly Line[]): string {
  const rows = [COLUMNS, ...lines.map(cells)];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join("  "),
    )
    .join("\n");
}

export function cells(line: Line): string[] {
  const { work, unit, floor, subject, ratio, runs = [], target, sample = {} } = line;
  return [
    work,
    floor ? `${floor.name} ${figure(floor.value)}` : "",
    `${figure(subject)} ${unit}`,
    ratio === null ? "" : ratio.toFixed(2),
    runs.map((run) => (ratio === null ? figure(run) : run.toFixed(2))).join(" "),
    [
      target.atLeast !== undefined && `≥ ${target.atLeast}`,
      target.atMost !== undefined && `≤ ${target.atMost}`,
    ]
      .filter(Boolean)
      .join(" "),
    ...[sample.p50Ms, sample.p99Ms, sample.cpuMicros, sample.memoryMb].map(figure),
    Object.keys(target).length === 0 ? "" : isMet(line) ? "met" : "MISSED",
  ];
}

/** A figure with three significant digits, or more for larger numbers. */
function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "";
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
