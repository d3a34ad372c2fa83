import { readConfig, readEnvironment } from "./config.ts";
import { runProcess } from "./process.ts";
import { runWeb } from "./run-service.ts";

/** The web process: answers the platform, and unless `WEB_JOBS=off`, runs the jobs. */
await runProcess(() => readConfig(readEnvironment()), runWeb);
