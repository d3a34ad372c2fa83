import { hasMetrics, hasOperator } from "../config.ts";
import type { OpenContext } from "../open-context.ts";
import { checkDatabase } from "./start-up.ts";

/** A running service: the web process, or a worker, which does not listen. */
export interface RunningService {
  services: OpenContext;
  /** Where it listens; null for a worker. */
  url: string | null;
  /** Resolves when it can work; rejects with `Misconfigured` if it never will. */
  ready: Promise<void>;
  /**
   * Stops in good order: from now on no work is claimed and no new connection accepted; the results of calls that were
   * sent are awaited and stored, and requests on open connections are answered. A second call returns the same promise.
   * Rejects with the first failure after everything was stopped; further ones are logged.
   */
  stop(): Promise<void>;
}

export function once(work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | null = null;
  return () => (begun ??= work());
}

/**
 * Checks the database as soon as it answers, and then starts the jobs: by the timetable only `withSweeps`. `stopping`
 * ends the wait.
 */
export function becomeReady(
  services: OpenContext,
  stopping: AbortSignal,
  withSweeps: boolean,
): Promise<void> {
  services.watch();
  const ready = checkDatabase(services, stopping).then(() => {
    if (stopping.aborted) return;
    if (hasOperator(services.config) || hasMetrics(services.config)) services.totals.start();
    services.jobs.start(withSweeps ? services.config.sweepCron : null);
    if (withSweeps) services.jobs.wakeAll();
    services.log.info({ sweeps: withSweeps }, "Ready");
  });
  ready.catch(() => undefined);
  return ready;
}
