import type { EventEmitter } from "node:events";
import type { Environment } from "../../environment.ts";

/** What a command uses of the process that it runs in: `process` itself, or another one with its signals as events. */
export interface Host extends EventEmitter, Pick<NodeJS.Process, "cwd" | "pid" | "kill" | "exit"> {
  env: Environment;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}
