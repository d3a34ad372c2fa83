import { FAILED } from "./exit-codes.ts";
import type { Screen } from "./screen.ts";

/** The result of a command: one JSON document, and the same as text for people. */
export interface Outcome {
  data: unknown;
  /** Lines for standard output, without the last line end. */
  show(screen: Screen): string;
  /** The lines say why there is no result: they go to standard error. */
  isComplaint?: boolean;
  /** 0 by default; 1 if the command ran but its purpose failed. */
  exitCode?: number;
}

/** The operator was asked to confirm, and said no. */
export const NOT_CONFIRMED: Outcome = {
  data: { id: "not_confirmed", message: "Nothing was changed." },
  show: () => "Nothing was changed.",
  isComplaint: true,
  exitCode: FAILED,
};
