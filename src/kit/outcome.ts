import { FAILED } from "./exit-codes.ts";
import type { Screen } from "./screen.ts";

/** What a command comes to: one JSON document, and the same for people. */
export interface Outcome {
  data: unknown;
  /** Lines for standard output, without the last line end. */
  show(screen: Screen): string;
  /** The lines say why there is nothing of what was asked for: they go to standard error. */
  isComplaint?: boolean;
  /** 0 unless given: 1 where the command worked but what it was to do did not. */
  exitCode?: number;
}

/** A person was asked, and said no. */
export const NOT_CONFIRMED: Outcome = {
  data: { id: "not_confirmed", message: "Nothing was changed." },
  show: () => "Nothing was changed.",
  isComplaint: true,
  exitCode: FAILED,
};
