import { watchOutput } from "./operator/commands/lost-output.ts";
import { runKit } from "./operator/commands/run.ts";

const exitCode = watchOutput();
// The operator's command line.
process.exitCode = exitCode(await runKit(process.argv.slice(2), process));
