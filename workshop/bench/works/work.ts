import type { Bench } from "../bench.ts";
import type { Sample } from "../contest.ts";

/** One line of the report. */
export interface Line {
  work: string;
  /** The unit of `floor` and `subject`. */
  unit: string;
  /** What the subject is compared with; null: only with the target. */
  floor: { name: string; value: number } | null;
  subject: number;
  ratio: number | null;
  target: Target;
  sample?: Partial<Sample>;
  /** The subject's position in a plot; see plots.ts. */
  point?: { plot: "processes" | "resources"; x: number };
}

/** The limits for the ratio, or without a floor for the subject. */
export interface Target {
  atLeast?: number;
  atMost?: number;
}

/** One measurement; `name` is the one for `--only`. Rejects if the work was not done correctly. */
export interface Work {
  name: string;
  measure(bench: Bench): Promise<Line[]>;
}

export function isMet({ ratio, subject, target }: Line): boolean {
  const figure = ratio ?? subject;
  return figure >= (target.atLeast ?? -Infinity) && figure <= (target.atMost ?? Infinity);
}
