import type { EventEmitter } from "node:events";
import { WriteStream } from "node:tty";
import picocolors from "picocolors";
import type { Environment } from "../../environment.ts";

/** What a command uses of the process that it runs in: `process` itself, or another one with its signals as events. */
export interface Host extends EventEmitter, Pick<NodeJS.Process, "cwd" | "pid" | "kill"> {
  env: Environment;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

/** The width for which text is laid out, and its colours. */
export interface Screen {
  columns: number;
  /** True if a person reads it; otherwise perhaps a script. */
  isTerminal: boolean;
  paint: ReturnType<typeof picocolors.createColors>;
}

const LEAST_COLUMNS = 40;
/** They fit a mail or a ticket. */
const USUAL_COLUMNS = 80;

/** Colours on a terminal, or as FORCE_COLOR and NO_COLOR say. */
export function screenOf(host: Host, name: "stdout" | "stderr"): Screen {
  const { [name]: stream, env } = host;
  const columns = stream.isTTY ? Math.max(stream.columns || USUAL_COLUMNS, LEAST_COLUMNS) : USUAL_COLUMNS;
  const mayPaint = env["FORCE_COLOR"] !== undefined || stream.isTTY;
  const paint = picocolors.createColors(mayPaint && WriteStream.prototype.getColorDepth(env) > 2);
  return { columns, isTerminal: stream.isTTY, paint };
}
