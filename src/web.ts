import { readConfig } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { runProcess } from "./process/run-process.ts";
import { runWeb } from "./process/run-web.ts";

/** The web process: answers the platform, and unless `WEB_JOBS=off`, runs the jobs. */
await runProcess(() => readConfig(readEnvironment()), runWeb);
