import { watchOutput } from "./kit/lost-output.ts";
import { runKit } from "./kit/run.ts";

const exitCode = watchOutput();
// The operator's command line.
process.exitCode = exitCode(await runKit(process.argv.slice(2), process));
