import { Router, type RequestHandler } from "express";
import { AggregatorRegistry, collectDefaultMetrics, Registry } from "prom-client";
import type { Context } from "../context.ts";
import { methodNotAllowed } from "../http/requests.ts";
import { build } from "../version.ts";
import { GAUGES, readTotals, stateOfWork, type Sample } from "./store.ts";
import type { Totals } from "./totals.ts";

/** However often scrapes come, the database is queried no more often than this. */
const FRESH_MS = 2_000;

/** `GET /metrics`, in Prometheus' text format, for requests that `guard` lets pass; to be mounted at `/metrics`. */
export function metricsRoutes(ctx: Context & { totals: Totals }, guard: RequestHandler): Router {
  const library = new Registry();
  collectDefaultMetrics({ register: library });
  let cached: { samples: Promise<Sample[]>; atMs: number } | null = null;
  const router = Router({ caseSensitive: true });
  router.use(guard);
  router
    .route("/")
    .get(async (_request, response) => {
      if (!cached || performance.now() - cached.atMs > FRESH_MS)
        cached = { samples: sharedSamples(ctx), atMs: performance.now() };
      const text = await textOf(ctx, [...(await cached.samples), ...ownSamples(ctx)]);
      response.set({ "Content-Type": Registry.PROMETHEUS_CONTENT_TYPE, "Cache-Control": "no-store" });
      response.end(`${text}\n${await library.metrics()}`);
    })
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

/**
 * The totals of all processes, and the state of the work. While the database is unreachable both are left out, because
 * a total that falls and returns would look like a burst.
 */
async function sharedSamples({
  db,
  totals,
  jobs,
  log,
}: Parameters<typeof metricsRoutes>[0]): Promise<Sample[]> {
  const isUp = (value: 0 | 1): Sample => ({ sample: "addon_database_up", labels: {}, value });
  try {
    // `ping` detects a database that refuses writes: on a full disk, updating an existing total may still succeed.
    await db.ping();
    await totals.store();
    return [...(await readTotals(db)), ...(await stateOfWork(db, jobs.names)), isUp(1)];
  } catch (error) {
    log.warn({ error }, "The database's part of the metrics is missing");
    return [isUp(0)];
  }
}

/** What is so of the process that answers the scrape alone. */
function ownSamples({ db, clocks }: Context): Sample[] {
  const { inUse, idle, waiting } = db.connections();
  return [
    { sample: "addon_database_connections", labels: { state: "in_use" }, value: inUse },
    { sample: "addon_database_connections", labels: { state: "idle" }, value: idle },
    { sample: "addon_database_waiting", labels: {}, value: waiting },
    { sample: "addon_clocks_apart_seconds", labels: {}, value: clocks.apartMs() / 1_000 },
    { sample: "addon_build_info", labels: build, value: 1 },
  ];
}

const OWN = {
  addon_database_up: "1: the database answered when it was last asked, at most 2 seconds ago",
  addon_database_connections: "Connections of this process to the database",
  addon_database_waiting: "Statements of this process that wait for a connection",
  addon_clocks_apart_seconds:
    "By how much the furthest two of the clocks of the database, the platform and this process are apart",
  addon_build_info: "Always 1; the labels say which build this process runs, on which Node",
};

/** Of the samples of a histogram. */
const SUFFIXES = ["_bucket", "_sum", "_count"];

/** Prometheus' text of those samples that belong to a metric of this build. */
async function textOf({ metrics }: Context, samples: readonly Sample[]): Promise<string> {
  const families = [
    ...(await metrics.families()),
    ...GAUGES,
    ...Object.entries(OWN).map(([name, help]) => ({ name, help, type: "gauge" })),
  ].map(({ name, help, type }) => ({
    ...{ name, help, type, aggregator: "first" },
    values: samples
      .filter(({ sample }) => sample === name || SUFFIXES.some((suffix) => sample === name + suffix))
      .map(({ sample, labels, value }) => ({ metricName: sample, labels, value })),
  }));
  return AggregatorRegistry.aggregate([families.filter(({ values }) => values.length > 0)]).metrics();
}
