import { runProcess } from "./process/run-process.ts";
import { runWorker } from "./process/run-worker.ts";

/** The worker process: runs the jobs and nothing else, beside web processes on the same database. */
await runProcess("worker", runWorker);
