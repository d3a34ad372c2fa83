import type { Database } from "../database/database.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Metrics } from "./metrics.ts";
import { ownProcess } from "./own-process.ts";
import { createScrape } from "./scrape.ts";
import { createTotals } from "./totals.ts";

/** How often each process adds its counts to the totals; a process that is killed loses those since the last time. */
const STORE_EVERY_MS = 10_000;

/** Stores the metrics in the database and makes them available for a scrape. Before `start`, nothing is stored. */
export function createKeptMetrics({
  db,
  metrics,
  jobs,
  log,
}: {
  db: Database;
  metrics: Metrics;
  /** The names of this build's jobs. */
  jobs: readonly string[];
  log: Log;
}) {
  const totals = createTotals({ db, families: metrics.families });
  let timer: NodeJS.Timeout | undefined;
  const store = () =>
    totals
      .store()
      .catch((error: unknown) =>
        log.debug({ reason: messageOf(error) }, "What was counted is not stored yet; the next time it is"),
      );

  return {
    /** Starts to add to the totals at an interval. */
    start(): void {
      timer = setInterval(() => void store(), STORE_EVERY_MS).unref();
    },
    /** Stops, and adds the remaining counts. */
    async stop(): Promise<void> {
      if (!timer) return;
      clearInterval(timer);
      await store();
      // The first call may have joined a store in progress, which had read the metrics before the last counts.
      await store();
    },
    /**
     * Creates the function that answers a scrape; the default metrics of this process are collected from the first call
     * on.
     */
    createScrape: () => createScrape({ db, totals, jobs, own: ownProcess(db), log }),
  };
}
