import { Router, type RequestHandler } from "express";
import { AggregatorRegistry, collectDefaultMetrics, Registry } from "prom-client";
import type { Context, OpenContext } from "../context.ts";
import { methodNotAllowed } from "../http/requests.ts";
import { build } from "../version.ts";
import { sharedFor } from "../within.ts";
import { FRESH_MS, GAUGES, readTotals, stateOfCredentials, stateOfWork, type Sample } from "./store.ts";

/** In Prometheus' text format, for requests that `guard` lets pass; to be mounted at `/metrics`. */
export function metricsRoutes(ctx: OpenContext, guard: RequestHandler): Router {
  const library = new Registry();
  collectDefaultMetrics({ register: library });
  const samples = sharedFor(FRESH_MS, () => sharedSamples(ctx));
  const router = Router({ caseSensitive: true });
  router.use(guard);
  router
    .route("/")
    .get(async (_request, response) => {
      const text = await textOf(ctx, [...(await samples()), ...ownSamples(ctx)]);
      response.set({ "Content-Type": Registry.PROMETHEUS_CONTENT_TYPE, "Cache-Control": "no-store" });
      response.end(`${text}\n${await library.metrics()}`);
    })
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

/**
 * The totals of all processes, and the state of the work. While the database is unreachable both are left out, because
 * a total that falls and returns would look like a burst. A part that cannot be read is left out alone.
 */
async function sharedSamples({ db, totals, jobs, log }: OpenContext): Promise<Sample[]> {
  const isUp = (value: 0 | 1): Sample => ({ sample: "addon_database_up", labels: {}, value });
  try {
    // `ping` detects a database that refuses writes: on a full disk, updating an existing total may still succeed.
    await db.ping();
  } catch (error) {
    log.warn({ error }, "The database's part of the metrics is missing");
    return [isUp(0)];
  }
  const part = (reading: Promise<Sample[]>): Promise<Sample[]> =>
    reading.catch((error: unknown) => {
      log.warn({ error }, "A part of the metrics is missing");
      return [];
    });
  return [
    ...(await part(totals.store().then(() => readTotals(db)))),
    ...(await part(stateOfWork(db, jobs.names))),
    ...(await part(stateOfCredentials(db))),
    isUp(1),
  ];
}

/** What is so of the answering process alone. */
function ownSamples({ db }: Context): Sample[] {
  const { inUse, idle, waiting } = db.connections();
  return [
    { sample: "addon_database_connections", labels: { state: "in_use" }, value: inUse },
    { sample: "addon_database_connections", labels: { state: "idle" }, value: idle },
    { sample: "addon_database_waiting", labels: {}, value: waiting },
    { sample: "addon_build_info", labels: build, value: 1 },
  ];
}

const OWN = {
  addon_database_up: "1: the database answered when it was last asked, at most 2 seconds ago",
  addon_database_connections: "Connections of this process to the database",
  addon_database_waiting: "Statements of this process that wait for a connection",
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
