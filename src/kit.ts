import { messageOf } from "./errors.ts";
import { takeOverNode } from "./process/node-process.ts";

takeOverNode();

// A reader that closes the pipe early (`| head`), or a terminal that hangs up, is no error, and must not end the process
// while a token is being stored. Anything else, such as a full disk, is a failure, also after the command has ended.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || (stream.isTTY && error.code === "EIO")) return;
    process.exitCode ||= 1;
    if (stream === process.stderr) return;
    const said = `Standard output cannot be written: ${messageOf(error)}.\n  What the command did stays done.`;
    process.stderr.write(`✗ ${said}\n`);
  });
}

// The operator's command line.
const { runKit } = await import("./operator/commands/program.ts");
const exitCode = await runKit(process.argv.slice(2), process);
process.exitCode = exitCode || process.exitCode;
