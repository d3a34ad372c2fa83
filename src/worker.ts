import { loadParts } from "./process/load-parts.ts";
import { takeOverNode } from "./process/node-process.ts";

takeOverNode();
await loadParts();
const { runProcess } = await import("./process/run-process.ts");
const { runWorker } = await import("./process/run-worker.ts");

/** The worker process: runs the jobs and nothing else, beside web processes on the same database. */
await runProcess("worker", runWorker);
