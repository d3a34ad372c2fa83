import type { Bench } from "../bench.ts";
import type { Sample } from "../contest.ts";

/** One line of the report. */
export interface Line {
  work: string;
  /** What floor and subject are counted in. */
  unit: string;
  /** What it is measured against; null: against the target alone. */
  floor: { name: string; value: number } | null;
  subject: number;
  ratio: number | null;
  target: Target;
  sample?: Partial<Sample>;
  /** Where the subject stands in a drawing; see plots.ts. */
  point?: { plot: "processes" | "resources"; x: number };
}

/** What the ratio, or without a floor the subject, should be. */
export interface Target {
  atLeast?: number;
  atMost?: number;
}

/** Something that is measured; `name` is that of `--only`. Rejects if what was done was not done right. */
export interface Work {
  name: string;
  measure(bench: Bench): Promise<Line[]>;
}

export function isMet({ ratio, subject, target }: Line): boolean {
  const figure = ratio ?? subject;
  return figure >= (target.atLeast ?? -Infinity) && figure <= (target.atMost ?? Infinity);
}
