import { readConfig } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { Misconfigured } from "./errors.ts";
import { runProcess } from "./process/run-process.ts";
import { runWorker } from "./process/run-worker.ts";

/** The worker process: runs the jobs and nothing else, beside web processes on the same PostgreSQL. */
await runProcess(() => {
  const config = readConfig(readEnvironment());
  if (!config.databaseUrl) {
    throw new Misconfigured(
      "A worker needs DATABASE_URL: the embedded database serves one web process, which runs the jobs itself.",
    );
  }
  return config;
}, runWorker);
