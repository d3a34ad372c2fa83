import { AggregatorRegistry, type Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { databaseState, sweepAges } from "./database-state.ts";
import { gauge, type Family } from "./families.ts";
import type { Totals } from "./totals.ts";

/** However often scrapes come, the database is queried no more often than this. */
const FRESH_MS = 2_000;

/**
 * The text of a scrape: the totals of all processes, the state of the work, and this process. While the database is
 * away the first two are left out, because a total that falls and returns would look like a burst; `addon_database_up`
 * is 0 then.
 */
export function createScrape(needs: {
  db: Database;
  totals: Totals;
  /** The names of this build's jobs. */
  jobs: readonly string[];
  own: Registry;
  log: Log;
}) {
  const { db, totals, jobs, own, log } = needs;
  let known: { families: Promise<Family[]>; atMs: number } | null = null;

  async function look(): Promise<Family[]> {
    try {
      // `ping` detects a database that refuses writes: on a full disk, updating an existing total may still succeed.
      await db.ping();
      await totals.store();
      return [...(await totals.read()), ...(await databaseState(db)), await sweepAges(db, jobs), isUp(1)];
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "The database's part of the metrics is missing");
      return [isUp(0)];
    }
  }

  return async function scrape(): Promise<string> {
    if (!known || performance.now() - known.atMs > FRESH_MS)
      known = { families: look(), atMs: performance.now() };
    const shared = AggregatorRegistry.aggregate([await known.families]);
    return `${await shared.metrics()}\n${await own.metrics()}`;
  };
}

function isUp(value: 0 | 1): Family {
  const help = "1: the database answered when it was last asked, at most 2 seconds ago";
  return gauge("addon_database_up", help, [value], () => [{}, value]);
}
