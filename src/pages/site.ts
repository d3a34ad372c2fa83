import { Router, type ErrorRequestHandler, type Request, type RequestHandler, type Response } from "express";
import { isDatabaseAway } from "../database/database.ts";
import { KitError, Refusal } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { RefusedSample } from "../logging/request-log.ts";
import type { Page, Pages } from "./pages.tsx";
import { problemPage } from "./problem-page.tsx";
import { NO_ADDRESS, NOT_AVAILABLE, OUR_FAULT, Problem, type Told } from "./problem.ts";
import { securityHeaders } from "./security-headers.ts";
import { sendStylesheet, STYLESHEET_PATH } from "./stylesheet.ts";

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
  site.route(STYLESHEET_PATH).get(sendStylesheet).all(methodNotAllowed("GET, HEAD"));
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
