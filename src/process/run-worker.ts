import type { Config } from "../config.ts";
import type { Parts } from "../context.ts";
import { openContext } from "../open-context.ts";
import { becomeReady, type RunningService, stopOnce } from "./start-up.ts";

/** Starts a process that runs the jobs and nothing else. */
export async function runWorker(config: Config, parts?: Partial<Parts>): Promise<RunningService> {
  const services = await openContext(config, parts);
  const stopping = new AbortController();
  return {
    services,
    url: null,
    ready: becomeReady(services, "worker", stopping.signal, true),
    stop: stopOnce(async () => {
      stopping.abort();
      await services.close();
    }),
  };
}
