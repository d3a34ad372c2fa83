import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type RequestHandler, Router } from "express";
import { createApp } from "../app.ts";
import type { Config } from "../config.ts";
import type { OpenContext, Parts } from "../context.ts";
import { Misconfigured } from "../errors.ts";
import { guardsOf } from "../http/authenticate.ts";
import { createHttpServer } from "../http/server.ts";
import { watchCallers } from "../http/standstill.ts";
import { metricsRoutes } from "../metrics/scrape.ts";
import { openContext } from "../open-context.ts";
import { partnerApi } from "../partner-api/routes.ts";
import { createWebsite } from "../website.ts";
import { closeAll, within } from "../within.ts";
import { mostConnections } from "./descriptors.ts";
import { becomeReady, notReady, readiness, type RunningService, stopOnce } from "./start-up.ts";

/** How long a request waits for a service that has just started. A running service waits as long for its database. */
const START_PATIENCE_MS = 8_000;

/** Starts the web process. It listens at once and answers as soon as its database is reachable. */
export async function runWeb(config: Config, parts?: Partial<Parts>): Promise<RunningService> {
  const ctx = await openContext(config, parts);
  const { jobs, log, pace } = ctx;
  const stopping = new AbortController();
  const guards = guardsOf(ctx);
  const whenReady: RequestHandler = async (_request, _response, next) => {
    await untilReady();
    next();
  };
  const website = await createWebsite(ctx, { byPassword: guards.operator, whenReady });
  // Pending until the server listens, so that a process that cannot listen claims no work.
  let ready = new Promise<void>(() => undefined);
  let isReady = false;
  const mayStillStart = () =>
    ready.catch(() => {
      throw notReady();
    });
  const untilReady = () => (isReady ? null : within(START_PATIENCE_MS, mayStillStart(), notReady));
  const callers = watchCallers(config.trustProxy > 0);
  const app = createApp(ctx, {
    partnerApi: partnerApi(ctx, { guard: guards.platform, untilReady, callers }),
    metrics: guards.metrics && metricsRoutes(ctx, guards.metrics),
    site: website.router,
    yours: yourRoutes(ctx, whenReady),
    readiness: async () => (stopping.signal.aborted ? "unavailable" : readiness(ctx, ready)),
  });
  const most = mostConnections(config.databasePool);
  const { server, close } = createHttpServer(app, log, { mostConnections: most });
  await listen(server, config);
  ready = becomeReady(ctx, "web", stopping.signal, config.webJobs);
  ready.then(
    () => (isReady = true),
    () => undefined,
  );
  const name = config.host?.replace(/^.*:.*$/, "[$&]") ?? "localhost";
  const url = `http://${name}:${(server.address() as AddressInfo).port}`;
  log.info({ url, mostConnections: most }, "Listening");

  return {
    services: ctx,
    url,
    ready,
    stop: stopOnce(async () => {
      stopping.abort();
      const atOnce = [() => close(pace.lastOrdersMs), guards.release, () => jobs.stop(), website.stop];
      const onLater = (error: unknown) => log.error({ error }, "Another part could not be stopped");
      callers.close();
      await closeAll([atOnce, ctx.close], onLater);
    }),
  };
}

/** The routes of your service, which wait until this one is ready. */
function yourRoutes({ vendor }: OpenContext, whenReady: RequestHandler): RequestHandler[] | null {
  if (!vendor.routes) return null;
  const router = Router({ caseSensitive: true });
  vendor.routes(router);
  return [whenReady, router];
}

/** The backlog of connections in the kernel. With Node's default of 511, a burst of thousands is reset. */
const MOST_CONNECTIONS_WAITING = 4_096;

/** Throws Misconfigured if the server cannot listen: the port is in use, or the address is not this machine's. */
async function listen(server: Server, { host, port }: Config): Promise<void> {
  server.listen({ ...(host && { host }), port, backlog: MOST_CONNECTIONS_WAITING });
  await once(server, "listening").catch((cause: Error) => {
    throw new Misconfigured(`HOST and PORT cannot be used: ${cause.message}`, { cause });
  });
}
