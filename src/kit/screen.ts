import type { WriteStream } from "node:tty";
import { styleText } from "node:util";
import picocolors from "picocolors";

/** The width for which text is laid out, and whether it has colours. */
export interface Screen {
  columns: number;
  /** True if a person reads it; otherwise perhaps a script. */
  isTerminal: boolean;
  paint: ReturnType<typeof picocolors.createColors>;
}

const LEAST_COLUMNS = 40;
const USUAL_COLUMNS = 80;

/**
 * Colours on a terminal, or as FORCE_COLOR and NO_COLOR say. Anything else gets 80 columns, which fit a mail or a
 * ticket.
 */
export function screenOf(stream: WriteStream): Screen {
  const columns = stream.isTTY ? Math.max(stream.columns || USUAL_COLUMNS, LEAST_COLUMNS) : USUAL_COLUMNS;
  // Node evaluates the terminal and the environment: see whether it would colour a letter.
  const paint = picocolors.createColors(styleText("red", "x", { stream }) !== "x");
  return { columns, isTerminal: stream.isTTY, paint };
}
