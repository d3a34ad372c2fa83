import { type RequestHandler, Router } from "express";
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Context, OpenContext } from "../context.ts";
import type { Database } from "../database/database.ts";
import { methodNotAllowed } from "../http/requests.ts";
import { GAUGES_OF_PROCESSES, samplesOfProcesses } from "../processes/judge.ts";
import { lateAfterSeconds, listProcesses } from "../processes/store.ts";
import { build } from "../version.ts";
import { sharedFor } from "../within.ts";
import type { Sample } from "./metrics.ts";
import { GAUGES, stateOfCredentials, stateOfCustomers, stateOfWork } from "./store.ts";
import { readTotals } from "./totals-store.ts";

/** In Prometheus' text format, for requests that `guard` lets pass; to be mounted at `/metrics`. */
export function metricsRoutes(ctx: OpenContext, guard: RequestHandler): Router {
  const { registry, isUp } = ownMetrics(ctx.db);
  const samples = sharedFor(ctx.pace.freshMs, async () =>
    // Gauges of the vendor's are read at the same time, also while the database is unreachable.
    (await Promise.all([sharedSamples(ctx, isUp), ctx.metrics.yours.readGauges(ctx.log)])).flat(),
  );
  const router = Router({ caseSensitive: true });
  router.use(guard);
  router
    .route("/")
    .get(async (_request, response) => {
      const text = await textOf(ctx, await samples());
      response.set({ "Content-Type": Registry.PROMETHEUS_CONTENT_TYPE, "Cache-Control": "no-store" });
      response.end(`${text}\n${await registry.metrics()}`);
    })
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

/**
 * The totals of all processes, and the state of the work. While the database is unreachable both are left out, because
 * a total that falls and returns would look like a burst. A part that cannot be read is left out alone.
 */
async function sharedSamples(ctx: OpenContext, isUp: Gauge): Promise<Sample[]> {
  const { config, db, totals, jobs, log, pace, yourJobs } = ctx;
  try {
    // `ping` detects a database that refuses writes: on a full disk, updating an existing total may still succeed.
    await db.ping();
    isUp.set(1);
  } catch (error) {
    log.warn({ error }, "The database's part of the metrics is missing");
    isUp.set(0);
    return [];
  }
  const part = (reading: Promise<Sample[]>): Promise<Sample[]> =>
    reading.catch((error: unknown) => {
      log.warn({ error }, "A part of the metrics is missing");
      return [];
    });
  return [
    ...(await part(totals.store().then(() => readTotals(db)))),
    ...(await part(stateOfWork(db, jobs.names, yourJobs))),
    ...(await part(
      listProcesses(db, lateAfterSeconds(pace)).then((all) =>
        samplesOfProcesses(all, config.processesExpected),
      ),
    )),
    ...(await part(stateOfCredentials(db))),
    ...(await part(stateOfCustomers(db))),
  ];
}

/** Metrics of the answering process alone, beside the client library's. */
function ownMetrics(db: Database) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const own = (name: string, help: string, labelNames: string[], collect?: (this: Gauge) => void) =>
    new Gauge({ name, help, labelNames, registers: [registry], ...(collect && { collect }) });
  own("addon_database_connections", "Connections of this process to the database", ["state"], function () {
    const { inUse, idle } = db.connections();
    this.set({ state: "in_use" }, inUse);
    this.set({ state: "idle" }, idle);
  });
  own("addon_database_waiting", "Statements of this process that wait for a connection", [], function () {
    this.set(db.connections().waiting);
  });
  const labels = "Always 1; the labels say which build this process runs, on which Node";
  own("addon_build_info", labels, Object.keys(build)).set(build, 1);
  const up = "1: the database answered when last queried, at most 2 seconds ago";
  return { registry, isUp: own("addon_database_up", up, []) };
}

/** Of the samples of a histogram. */
const SUFFIXES = ["_bucket", "_sum", "_count"];

/** Prometheus' text of those samples that belong to a metric of this build. */
async function textOf({ metrics }: Context, samples: readonly Sample[]): Promise<string> {
  const families = [
    ...(await metrics.families()),
    ...metrics.yours.gaugeFamilies(),
    ...GAUGES,
    ...GAUGES_OF_PROCESSES,
  ].map(({ name, help, type }) => ({
    name,
    help,
    type,
    aggregator: "first",
    // A counter of a vendor's may be named like another with such an end.
    values: samples
      .filter(
        ({ sample, labels }) =>
          (type === "histogram" ? SUFFIXES : [""]).some((end) => sample === name + end) &&
          !metrics.yours.isOfOtherBuckets(name, labels["le"]),
      )
      .map(({ sample, labels, value }) => ({ metricName: sample, labels, value })),
  }));
  return AggregatorRegistry.aggregate([families.filter(({ values }) => values.length > 0)]).metrics();
}
