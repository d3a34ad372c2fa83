import { runKit } from "./kit/run.ts";

// Whoever reads only the beginning (`| head`) closes the pipe, which is no error of ours.
process.stdout.on("error", () => undefined);

/** The operator's command line. */
process.exitCode = await runKit(process.argv.slice(2));
