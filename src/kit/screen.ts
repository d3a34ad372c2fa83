import type { WriteStream } from "node:tty";
import { styleText } from "node:util";
import picocolors from "picocolors";

/** What lines are laid out for: so many columns, with colours or without. */
export interface Screen {
  columns: number;
  /** What stands on it is read by a person; elsewhere perhaps by a script. */
  isTerminal: boolean;
  paint: ReturnType<typeof picocolors.createColors>;
}

const LEAST_COLUMNS = 40;
const USUAL_COLUMNS = 80;

/** Colours on a terminal, as FORCE_COLOR and NO_COLOR have it. Elsewhere 80 columns, as a mail or a ticket shows them. */
export function screenOf(stream: WriteStream): Screen {
  const columns = stream.isTTY ? Math.max(stream.columns || USUAL_COLUMNS, LEAST_COLUMNS) : USUAL_COLUMNS;
  // Node knows what the terminal and the environment say; whether it would colour a letter tells us.
  const paint = picocolors.createColors(styleText("red", "x", { stream }) !== "x");
  return { columns, isTerminal: stream.isTTY, paint };
}
