import { runProcess } from "./process/run-process.ts";
import { runWeb } from "./process/run-web.ts";

/** The web process: answers the platform, and runs the jobs: with `WEB_JOBS=off` only what its own requests make due. */
await runProcess("web", runWeb);
