import { messageOf } from "../errors.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { screenOf } from "./screen.ts";
import { wrapped } from "./text.ts";

/**
 * Watches over what is printed. Whoever reads only the beginning (`| head`) closes the pipe, and a terminal may hang up:
 * that is no error of ours, and must not end us while a token is on its way. Anything else, a full disk, is told where
 * somebody may still see it; what would have stood on standard error is missed too. Answers what to exit with instead of
 * `code`.
 */
export function watchOutput(): (code: number) => number {
  let isLost = false;
  const exitCode = (code: number) => (isLost && code === DONE ? FAILED : code);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE" || (stream.isTTY && error.code === "EIO")) return;
      isLost = true;
      // It may come after the command has ended.
      process.exitCode = exitCode(Number(process.exitCode ?? DONE));
      if (stream === process.stdout) tell(messageOf(error));
    });
  }
  return exitCode;
}

function tell(reason: string): void {
  const { columns, paint } = screenOf(process.stderr);
  const message = `Standard output cannot be written: ${reason}. What the command did stays done.`;
  process.stderr.write(`${paint.red("✗")} ${wrapped(message, columns, "  ")}\n`);
}
