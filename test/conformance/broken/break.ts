import type { Habits } from "../../../conformance/examples/service/service.ts";

/** One deviation of the example from correct behaviour. */
export interface Break {
  /** The rule that must notice it. */
  rule: string;
  what: string;
  /** Rules that inevitably notice it too. */
  also?: readonly string[];
  /** Judged by its rule alone: it concerns load or timing, which on a busy machine other rules may notice too. */
  alone?: true;
  habits(good: Habits): Partial<Habits>;
}

/** A service with these faults, which do not interfere with each other, and no others. */
export type BrokenService = readonly Break[];
