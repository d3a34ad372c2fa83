import type { Database } from "../database/database.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "./metrics.ts";
import { ownProcess } from "./own-process.ts";
import { createScrape } from "./scrape.ts";
import { createTotals } from "./totals.ts";

/** So often each process adds what it counted to the totals; a process that is killed takes as much with it. */
const STORE_EVERY_MS = 10_000;

/** Metrics that are kept in the database and can be read. Nothing is stored and nothing watched before `start`. */
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
  const totals = createTotals({ db, registry: metrics.registry });
  let timer: NodeJS.Timeout | undefined;
  const store = () =>
    totals
      .store()
      .catch((error: unknown) =>
        log.debug({ reason: messageOf(error) }, "What was counted is not stored yet; the next time it is"),
      );

  return {
    /** Adds to the totals from now on. */
    start(): void {
      timer = setInterval(() => void store(), STORE_EVERY_MS).unref();
    },
    /** Adds what is left. */
    async stop(): Promise<void> {
      if (!timer) return;
      clearInterval(timer);
      await store();
      // That may have been one under way, which had looked before the last was counted.
      await store();
    },
    /** What answers a scrape; the process watches itself from the first call of this on. */
    createScrape: () => createScrape({ db, totals, jobs, own: ownProcess(db), log }),
  };
}
