import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { RequestHandler } from "express";
import { createApp } from "../app.ts";
import { closeAll, closeTogether } from "../close-all.ts";
import type { Config } from "../config.ts";
import { Misconfigured } from "../errors.ts";
import { createGracefulClose } from "../http/graceful-close.ts";
import { createHttpServer } from "../http/server.ts";
import { createRefusedSample } from "../logging/request-log.ts";
import { countedCalls, timedRequests } from "../metrics/measured.ts";
import { createScrape, metricsRoutes } from "../metrics/scrape.ts";
import { ROUTER_PATHS } from "../http/own-paths.ts";
import { partnerApi } from "../partner-api/routes.ts";
import { openContext, type Parts, type OpenContext } from "../open-context.ts";
import { createWebsite } from "../website.ts";
import { within } from "../within.ts";
import { createGuards } from "./guards.ts";
import { readiness } from "./readiness.ts";
import { becomeReady, once, type RunningService } from "./running-service.ts";
import { announce, notReady } from "./start-up.ts";

/** How long a request waits for a service that has just started. A running service waits as long for its database. */
const START_PATIENCE_MS = 8_000;

/** How long a start that failed waits for what was opened to be closed: the vendor's own code may hang. */
const LONGEST_CLOSE_MS = 5_000;

/**
 * Starts the web process: listens at once, and works as soon as its database answers. An error leaves nothing running,
 * and all that was opened closed, as far as that takes five seconds.
 */
export async function runWeb(config: Config, parts?: Partial<Parts>): Promise<RunningService> {
  const services = await openContext(config, parts);
  const stopping = new AbortController();
  try {
    return await serve(services, stopping);
  } catch (error) {
    stopping.abort();
    await within(LONGEST_CLOSE_MS, services.close(), () => new Error("Closing took too long")).catch(
      (later: unknown) => services.log.error({ error: later }, "A part could not be closed"),
    );
    throw error;
  }
}

async function serve(services: OpenContext, stopping: AbortController): Promise<RunningService> {
  const { config, jobs, metrics, log, pace } = services;
  announce(log);
  const guards = createGuards(services);
  const refusedSample = createRefusedSample(log);
  const whenReady: RequestHandler = (_request, _response, next) => void untilReady().then(() => next(), next);
  // Loading its code takes a moment, so it comes first: a process that is ready must be listening. No request comes
  // before that, so `untilReady` exists when one does.
  const website = await createWebsite({ services, byPassword: guards.operator, whenReady, refusedSample });
  const ready = becomeReady(services, stopping.signal, config.webJobs);
  let isReady = false;
  ready.then(
    () => (isReady = true),
    () => undefined,
  );
  // Nearly every request finds the service ready, and then needs no timer.
  const untilReady = async () => (isReady ? undefined : within(START_PATIENCE_MS, ready, notReady));
  const api = partnerApi({
    ...{ ctx: services, counted: countedCalls(metrics) },
    guard: guards.platform,
    untilReady,
    onLost: services.lostProvisions.note,
    onAnswered: () => jobs.wake("exchange-grants", pace.exchangeAfterMs),
  });
  const app = createApp({
    resourcesPath: config.resourcesPath,
    partnerApi: api,
    metrics:
      guards.metrics &&
      metricsRoutes({ guard: guards.metrics, scrape: createScrape({ ...services, jobs: jobs.names }) }),
    observe: timedRequests(metrics, config.resourcesPath, ROUTER_PATHS),
    site: website.router,
    readiness: () => readiness(services, ready),
    isStopping: () => stopping.signal.aborted,
    trustProxy: config.trustProxy,
    refusedSample,
    log,
  });
  const server = createHttpServer(app, { refusedSample, log });
  const close = createGracefulClose(server, pace);
  await listen(server, config);
  const name = config.host?.replace(/^.*:.*$/, "[$&]") ?? "localhost";
  const url = `http://${name}:${(server.address() as AddressInfo).port}`;
  log.info({ url }, "Listening");

  return {
    services,
    url,
    ready,
    stop: once(async () => {
      stopping.abort();
      const atOnce = [close, () => jobs.stop(), website.stop];
      const onLater = (error: unknown) => log.error({ error }, "Another part could not be stopped");
      await closeAll([() => closeTogether(atOnce, onLater), services.close], onLater);
    }),
  };
}

/** Connections that the kernel keeps for us before they are accepted; Node's own 511 reset a burst of thousands. */
const MOST_CONNECTIONS_WAITING = 4_096;

function listen(server: Server, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(inWords(error, port));
    server.once("error", refuse);
    server.listen({ ...(host && { host }), port, backlog: MOST_CONNECTIONS_WAITING }, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

/** Common mistakes become a `Misconfigured` with a plain sentence, which is printed without a stack. */
function inWords(error: NodeJS.ErrnoException, port: number): Error {
  const sentences: Record<string, string> = {
    EADDRINUSE: `Port ${port} is in use: stop what listens there, or choose another with PORT=…`,
    EADDRNOTAVAIL: "HOST is no address of this machine.",
    ENOTFOUND: "HOST is no address of this machine.",
    EACCES: `This user may not listen on port ${port}: choose one from 1024 on with PORT=…`,
  };
  const sentence = sentences[error.code ?? ""];
  return sentence ? new Misconfigured(sentence, { cause: error }) : error;
}
