import { readFileSync } from "node:fs";
import { figureOf, type Line } from "./works/work.ts";

/** What a run prints with `--json`. */
export interface Run {
  /** The day, as 2026-11-30. */
  on: string;
  /** The machine and its parts, in words. */
  says: readonly string[];
  lines: readonly Line[];
  faults: readonly string[];
}

/**
 * Of several runs on one machine, each line as the run with its median has it, with the figures of all runs. A line that
 * only some runs measured is the median of those. Throws if a run had faults, or was on another machine than the first.
 */
export function mediansOf(runs: readonly [Run, ...Run[]]): Run {
  const [first] = runs;
  for (const { says, faults } of runs) {
    if (faults.length > 0) throw new Error(`A run had faults: ${faults.join("; ")}`);
    if (says.join() !== first.says.join())
      throw new Error(`The runs differ: ${first.says.join("; ")}, and ${says.join("; ")}`);
  }
  const ofEach = new Map<string, Line[]>();
  for (const line of runs.flatMap(({ lines }) => lines)) {
    const name = `${line.work}, ${line.floor?.name}`;
    ofEach.set(name, [...(ofEach.get(name) ?? []), line]);
  }
  const days = runs.map(({ on }) => on).sort();
  return {
    on: [...new Set([days[0]!, days.at(-1)!])].join(" to "),
    says: first.says,
    lines: [...ofEach.values()].map(median),
    faults: [],
  };
}

/** Reads what `--json` wrote into a file. */
export function readRun(file: string): Run {
  return JSON.parse(readFileSync(file, "utf8")) as Run;
}

function median(lines: readonly Line[]): Line {
  const sorted = lines.toSorted((one, other) => figureOf(one) - figureOf(other));
  const middle = sorted[Math.floor((sorted.length - 1) / 2)]!;
  return { ...middle, runs: lines.map(figureOf) };
}
