import { runKit } from "./kit/run.ts";

// Whoever reads only the beginning (`| head`) closes the pipe, and so does a terminal that hangs up. That is no error of
// ours, and must not end us while a token is on its way.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

/** The operator's command line. */
process.exitCode = await runKit(process.argv.slice(2));
