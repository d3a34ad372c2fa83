import type { WriteStream } from "node:tty";
import picocolors from "picocolors";

/** What lines are laid out for: so many columns, with colours or without. */
export interface Screen {
  columns: number;
  paint: ReturnType<typeof picocolors.createColors>;
}

const LEAST_COLUMNS = 40;
const USUAL_COLUMNS = 80;

/** Colours on a terminal only, and not with NO_COLOR. Elsewhere 80 columns, as a mail or a ticket shows them. */
export function screenOf(stream: Pick<WriteStream, "isTTY" | "columns">): Screen {
  const columns = stream.isTTY ? Math.max(stream.columns || USUAL_COLUMNS, LEAST_COLUMNS) : USUAL_COLUMNS;
  return { columns, paint: picocolors.createColors(Boolean(stream.isTTY) && picocolors.isColorSupported) };
}
