import { WriteStream } from "node:tty";
import picocolors from "picocolors";
import type { Host } from "./host.ts";

/** The width for which text is laid out, and whether it has colours. */
export interface Screen {
  columns: number;
  /** True if a person reads it; otherwise perhaps a script. */
  isTerminal: boolean;
  paint: ReturnType<typeof picocolors.createColors>;
}

type Stream = "stdout" | "stderr";

const LEAST_COLUMNS = 40;
const USUAL_COLUMNS = 80;

/**
 * Colours on a terminal, or as FORCE_COLOR and NO_COLOR say. Anything else gets 80 columns, which fit a mail or a
 * ticket.
 */
export function screenOf(host: Pick<Host, "env" | Stream>, name: Stream): Screen {
  const { [name]: stream, env } = host;
  const columns = stream.isTTY ? Math.max(stream.columns || USUAL_COLUMNS, LEAST_COLUMNS) : USUAL_COLUMNS;
  // As Node's own `styleText` decides, which reads the environment of this process.
  const mayPaint = env["FORCE_COLOR"] !== undefined || stream.isTTY;
  const paint = picocolors.createColors(mayPaint && WriteStream.prototype.getColorDepth(env) > 2);
  return { columns, isTerminal: stream.isTTY, paint };
}
