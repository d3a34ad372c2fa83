import { readConfig, readEnvironment } from "./config.ts";
import { Misconfigured } from "./errors.ts";
import { runProcess } from "./process.ts";
import { runWorker } from "./run-service.ts";

/** A process that runs the jobs alone, beside web processes on one PostgreSQL. */
await runProcess(() => {
  const config = readConfig(readEnvironment());
  if (!config.databaseUrl) {
    throw new Misconfigured(
      "A worker needs DATABASE_URL: the embedded database serves one web process, which runs the jobs itself.",
    );
  }
  return config;
}, runWorker);
