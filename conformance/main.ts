import { existsSync } from "node:fs";
import { runConformance } from "./run.ts";

/** The checker as a command: settings from the command line, the environment, and a `.env`; the first wins. */
if (existsSync(".env")) process.loadEnvFile(".env");
process.exitCode = await runConformance(process.argv.slice(2), process.env);
