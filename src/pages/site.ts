import { Router, type ErrorRequestHandler, type Request, type RequestHandler, type Response } from "express";
import helmet from "helmet";
import { isDatabaseAway } from "../database/database.ts";
import { KitError, Refusal } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { RefusedSample } from "../logging/request-log.ts";
import { stylesheet } from "./asset.ts";
import { problemPage, type Page, type Pages } from "./pages.tsx";
import { NO_ADDRESS, NOT_AVAILABLE, OUR_FAULT, Problem, type Told } from "./problem.ts";

/**
 * A policy that allows only our stylesheet, `data:` images and forms that post to us, plus the directives in `more`.
 * All directives are written out: helmet's default `upgrade-insecure-requests` would break a service that is tried
 * without https.
 */
export function policyWith(more: Record<string, string[]> = {}) {
  const directives = {
    "default-src": ["'none'"],
    "style-src": ["'self'"],
    ...more,
    "img-src": ["data:"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
  };
  return { useDefaults: false, directives };
}

const headers = helmet({
  contentSecurityPolicy: policyWith(),
  // The address of a callback contains a code, so other sites must not get it. `no-referrer` would go too far: with it
  // a browser sends no usable Origin with our forms.
  referrerPolicy: { policy: "same-origin" },
  // Every answer has these.
  strictTransportSecurity: false,
  xContentTypeOptions: false,
  xFrameOptions: { action: "deny" },
});

/** The headers of everything that people see: a strict policy, and no caching. */
const securityHeaders: RequestHandler = (request, response, next) => {
  response.set("Cache-Control", "no-store");
  headers(request, response, next);
};

/** What a part puts around a problem page that replaces one of its own pages. */
export type Frame = (page: Page, request: Request, response: Response) => Page;

/**
 * Everything for people: the routers of the parts by path, with the headers that pages need, and a page for each error
 * they throw. A `Refusal` passes through and is answered as JSON, as elsewhere.
 */
export function createSite({
  routers,
  frames = {},
  pages,
  refusedSample,
  log,
}: {
  /** The handlers of each path, in order. */
  routers: Readonly<Record<string, readonly RequestHandler[]>>;
  /** The frame of each path; a part without one gets the plain page. */
  frames?: Readonly<Record<string, Frame>>;
  pages: Pages;
  /** Decides which refused requests are logged. */
  refusedSample: RefusedSample;
  log: Log;
}): Router {
  const site = Router({ caseSensitive: true });
  site.route(stylesheet.path).get(stylesheet.send).all(methodNotAllowed("GET, HEAD"));
  for (const [path, handlers] of Object.entries(routers)) {
    site.use(path, securityHeaders, ...handlers, showProblem({ pages, refusedSample, log }, frames[path]));
  }
  return site;
}

const PASSING = ["overloaded", "not_ready"];

function showProblem(
  { pages, refusedSample, log }: { pages: Pages; refusedSample: RefusedSample; log: Log },
  frame: Frame = (page) => page,
): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (error instanceof Refusal || response.headersSent) return next(error);
    const told = toldOf(error);
    const { id, cause = isDatabaseAway(error) ? error : undefined } = error as {
      id?: unknown;
      cause?: unknown;
    };
    // The resource that the page is about, if the part has set it.
    const uuid: unknown = response.locals["uuid"];
    const named = { requestId: request.id, ...(uuid !== undefined && { uuid }) };
    const about = { ...named, problem: id, ...(cause !== undefined && { error: cause }) };
    if (told === OUR_FAULT) log.error({ ...named, error }, "A page failed");
    else if (refusedSample.isWritten(request, told.status)) log.info(about, "A page says what went wrong");
    if (told.status === 503) response.setHeader("Retry-After", String(told.retryAfterSeconds ?? 5));
    const page = problemPage(told, pages.addressOf(request).base);
    pages.show(request, response, frame(page, request, response));
  };
}

function toldOf(error: unknown): Told {
  if (error instanceof Problem) return error.told;
  if (error instanceof URIError) return NO_ADDRESS;
  const passes = isDatabaseAway(error) || (error instanceof KitError && PASSING.includes(error.id));
  return passes ? NOT_AVAILABLE : OUR_FAULT;
}
