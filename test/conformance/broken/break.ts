import type { Habits } from "../../../conformance/examples/service/service.ts";

/** One thing that the example does otherwise than it should. */
export interface Break {
  /** The rule that names it. */
  rule: string;
  what: string;
  /** Rules that cannot but notice too. */
  also?: readonly string[];
  /** Judged by its rule alone: it is one of load or of seconds, which on a busy machine other rules may notice too. */
  alone?: true;
  habits(good: Habits): Partial<Habits>;
}

/** A service with these faults, which do not get into each other's way, and no others. */
export type BrokenService = readonly Break[];
