import { messageOf } from "../../errors.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { screenOf } from "./screen.ts";
import { wrapped } from "./text.ts";

/**
 * Handles errors of standard output and standard error. A reader that closes the pipe early (`| head`), or a terminal
 * that hangs up, is no error, and must not end the process while a token is being stored. Any other error, such as a
 * full disk, makes the exit code a failure; one of standard output is reported on standard error. Answers a function
 * that gives the exit code to use instead of `code`.
 */
export function watchOutput(): (code: number) => number {
  let isLost = false;
  const exitCode = (code: number) => (isLost && code === DONE ? FAILED : code);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE" || (stream.isTTY && error.code === "EIO")) return;
      isLost = true;
      // The error may come after the command has ended.
      process.exitCode = exitCode(Number(process.exitCode ?? DONE));
      if (stream === process.stdout) tell(messageOf(error));
    });
  }
  return exitCode;
}

function tell(reason: string): void {
  const { columns, paint } = screenOf(process, "stderr");
  const message = `Standard output cannot be written: ${reason}. What the command did stays done.`;
  process.stderr.write(`${paint.red("✗")} ${wrapped(message, columns, "  ")}\n`);
}
