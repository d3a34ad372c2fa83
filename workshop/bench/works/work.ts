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
  /** The figure of each of several runs, of which this is the median. */
  runs?: readonly number[];
  /** The subject's position in a plot; see plots.tsx. */
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
  /** It takes minutes and says nothing about the service, so a whole run leaves it out. */
  isOnlyWhenNamed?: true;
  measure(bench: Bench): Promise<Line[]>;
}

/** What is compared with the target: the ratio, or without a floor the subject. */
export const figureOf = ({ ratio, subject }: Line): number => ratio ?? subject;

export function isMet(line: Line): boolean {
  const [figure, { target }] = [figureOf(line), line];
  return figure >= (target.atLeast ?? -Infinity) && figure <= (target.atMost ?? Infinity);
}
