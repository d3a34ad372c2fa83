import { loadParts } from "./process/load-parts.ts";
import { takeOverNode } from "./process/node-process.ts";

takeOverNode();
await loadParts();
await import("./website.ts");
const { runProcess } = await import("./process/run-process.ts");
const { runWeb } = await import("./process/run-web.ts");

/** The web process: answers the platform, and runs the jobs: with `WEB_JOBS=off` only what its own requests make due. */
await runProcess("web", runWeb);
