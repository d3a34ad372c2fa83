import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from "express";
import type { Context } from "./context.ts";
import { KitError, Refusal } from "./errors.ts";
import {
  askForBodyOnceRead,
  isAuthenticated,
  isUnreadableAddress,
  isUnreadableBody,
  methodNotAllowed,
  refuseCompressed,
  refuseExpectation,
  refuseMalformed,
} from "./http/requests.ts";
import { EACH, type Log } from "./logging/log.ts";
import { requestLog } from "./logging/request-log.ts";
import { timedRequests } from "./metrics/measured.ts";

export type Readiness = "ready" | "degraded" | "unavailable";

interface Routes {
  partnerApi: Router;
  /** `null`, like the two below, if the settings or your service enable none. */
  metrics: Router | null;
  site: Router | null;
  yours: RequestHandler[] | null;
  /** Whether provisions can be answered. `degraded`: they can, but an operator should run `kit doctor`. */
  readiness(): Promise<Readiness>;
}

/** Builds the Express app; it does not listen. */
export function createApp(ctx: Context, { partnerApi, metrics, site, yours, readiness }: Routes): Express {
  const { config, log, trace } = ctx;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", config.trustProxy);

  const observe = timedRequests(ctx.metrics, config.resourcesPath);
  const logRequest = requestLog(log);
  app.use(trace.requests);
  app.use((request, response, next) => {
    observe(request, response);
    logRequest(request, response);
    // Without includeSubDomains: the subdomains may belong to others.
    response.setHeader("Strict-Transport-Security", "max-age=31536000");
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setHeader("Request-Id", String(request.id));
    refuseMalformed(request, response);
    refuseExpectation(request, response);
    askForBodyOnceRead(request, response);
    next();
  });
  // The first route, because it gets most requests, and each route before it would cost them time.
  app.use(config.resourcesPath, partnerApi);
  app.use((request, _response, next) => {
    refuseCompressed(request);
    next();
  });
  app
    .route("/healthz")
    .get((_request, response) => void answer(response, 200, { status: "alive" }))
    .all(methodNotAllowed("GET, HEAD"));
  app
    .route("/readyz")
    .get(async (_request, response) => {
      const status = await readiness();
      answer(response, status === "unavailable" ? 503 : 200, { status });
    })
    .all(methodNotAllowed("GET, HEAD"));
  if (metrics) app.use("/metrics", metrics);
  if (site) app.use(site);
  if (yours) app.use(yours);
  app.use(() => {
    throw new Refusal("There is nothing here.", { id: "not_found", status: 404 });
  });
  app.use(answerError(log));
  return app;
}

/** Answers every error with `{id, message}`, without internal details. */
function answerError(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const { status, id, message } = publicFace(error, request);
    const about = { requestId: request.id, [EACH]: isAuthenticated(response) };
    if (status >= 500) log.error({ ...about, error }, "A request failed");
    // The message is left out, because it quotes the body.
    else if (isUnreadableBody(error, request))
      log.warn({ ...about, reason: (error as { type: string }).type }, "A body could not be read");
    if (response.headersSent) return void response.destroy();
    if (status === 503) response.setHeader("Retry-After", "5");
    answer(response, status, { id, message });
  };
}

/** Answers JSON that no cache may keep. */
function answer(response: Response, status: number, body: object): void {
  response.status(status).set("Cache-Control", "no-store").json(body);
}

/** The status and the body of an error's answer. */
function publicFace(error: unknown, request: Request): { status: number; id: string; message: string } {
  if (error instanceof Refusal) return { status: error.status, id: error.id, message: error.message };
  const face = (status: number, id: string, message: string) => ({ status, id, message });
  if (error instanceof KitError && ["database_unavailable", "not_ready"].includes(error.id))
    return face(503, "service_unavailable", "The service cannot answer for the moment. Try again.");
  // The messages of Express's parsers and router quote the request, so they are not sent.
  if (isUnreadableBody(error, request)) {
    const { status } = error as { status: number };
    return status === 413
      ? face(status, "payload_too_large", "The body is too large.")
      : face(status, "bad_request", "The request is not well formed.");
  }
  if (error instanceof URIError && isUnreadableAddress(request))
    return face(400, "bad_request", "The address is not well formed.");
  return face(500, "internal_error", "Something went wrong here. The request id finds it in the log.");
}
