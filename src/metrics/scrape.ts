import { Router, type RequestHandler } from "express";
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { Log } from "../logging/log.ts";
import type { Clocks } from "./clocks.ts";
import { databaseState, sweepAges } from "./database-state.ts";
import { gauge, type Family } from "./metrics.ts";
import { build } from "../version.ts";
import type { Totals } from "./totals.ts";

/** However often scrapes come, the database is queried no more often than this. */
const FRESH_MS = 2_000;

/** `GET /metrics`, in Prometheus' text format, for requests that `guard` lets pass; to be mounted at `/metrics`. */
export function metricsRoutes(needs: { guard: RequestHandler; scrape(): Promise<string> }): Router {
  const router = Router({ caseSensitive: true });
  router.use(needs.guard);
  router
    .route("/")
    .get(async (_request, response) => {
      response.set({ "Content-Type": Registry.PROMETHEUS_CONTENT_TYPE, "Cache-Control": "no-store" });
      response.end(await needs.scrape());
    })
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

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
  clocks: Clocks;
  log: Log;
}) {
  const { db, totals, jobs, clocks, log } = needs;
  const own = ownProcess(db, clocks);
  let known: { families: Promise<Family[]>; atMs: number } | null = null;

  async function look(): Promise<Family[]> {
    try {
      // `ping` detects a database that refuses writes: on a full disk, updating an existing total may still succeed.
      await db.ping();
      await totals.store();
      return [...(await totals.read()), ...(await databaseState(db)), await sweepAges(db, jobs), isUp(1)];
    } catch (error) {
      log.warn({ error }, "The database's part of the metrics is missing");
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

/** Metrics of the process that answers the scrape: memory, event loop, garbage collection, connections, its build. */
function ownProcess(db: Pick<Database, "connections">, clocks: Pick<Clocks, "apartMs">): Registry {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "addon_database_connections",
    help: "Connections of this process to the database",
    labelNames: ["state"],
    registers,
    collect() {
      const { inUse, idle } = db.connections();
      this.set({ state: "in_use" }, inUse);
      this.set({ state: "idle" }, idle);
    },
  });
  new Gauge({
    name: "addon_database_waiting",
    help: "Statements of this process that wait for a connection",
    registers,
    collect() {
      this.set(db.connections().waiting);
    },
  });
  new Gauge({
    name: "addon_clocks_apart_seconds",
    help: "By how much the furthest two of the clocks of the database, the platform and this process are apart",
    registers,
    collect() {
      this.set(clocks.apartMs() / 1_000);
    },
  });
  new Gauge({
    name: "addon_build_info",
    help: "Always 1; the labels say which build this process runs, on which Node",
    labelNames: Object.keys(build),
    registers,
  }).set(build, 1);
  return registry;
}
