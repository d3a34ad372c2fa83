import { watchOutput } from "./kit/lost-output.ts";
import { runKit } from "./kit/run.ts";

/** The operator's command line. */
const exitCode = watchOutput();
process.exitCode = exitCode(await runKit(process.argv.slice(2)));
