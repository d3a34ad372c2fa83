import type { ErrorRequestHandler } from "express";
import { isDatabaseAway } from "../database/database.ts";
import { KitError, Refusal } from "../errors.ts";
import { UnknownResource, UsedWrongly } from "../operator/errors.ts";
import { Problem } from "../pages/pages.tsx";
import { operatorProblem, refused } from "./problems.ts";

/** It passes with time; the frame of all pages has words for it. */
const PASSING = "overloaded";
/** A service that has just started waits for its database, and looks at what it keeps. */
const NOT_READY = "not_ready";

/**
 * A page of what an operation says no with, in its own sentence, as the command line shows it; and one for a database
 * that is away, with the way to the check-up, which needs none. Anything else goes on, to be a page for what nobody
 * foresaw.
 */
export function showRefusal(scrub: (text: string) => string): ErrorRequestHandler {
  return (error: unknown, _request, _response, next) => {
    const isNotReady = error instanceof KitError && error.id === NOT_READY;
    if (isNotReady) return next(operatorProblem("not_ready", { cause: error }));
    if (isDatabaseAway(error)) return next(operatorProblem("database_away", { cause: error }));
    const isToShow =
      error instanceof KitError &&
      !(error instanceof Refusal || error instanceof Problem || error.id === PASSING);
    next(isToShow ? refused(error.id, statusOf(error), scrub(error.message)) : error);
  };
}

function statusOf(error: KitError): number {
  if (error instanceof UnknownResource) return 404;
  return error instanceof UsedWrongly ? 400 : 409;
}
