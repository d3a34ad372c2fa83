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

/** Where text is shown. */
export interface Screen {
  /** True if a person reads it; otherwise perhaps a script. */
  isTerminal: boolean;
  paint: ReturnType<typeof picocolors.createColors>;
}

/** Colours on a terminal, or as FORCE_COLOR and NO_COLOR say. */
export function screenOf(host: Host, name: "stdout" | "stderr"): Screen {
  const { [name]: stream, env } = host;
  const mayPaint = env["FORCE_COLOR"] !== undefined || stream.isTTY;
  const paint = picocolors.createColors(mayPaint && WriteStream.prototype.getColorDepth(env) > 2);
  return { isTerminal: stream.isTTY, paint };
}
