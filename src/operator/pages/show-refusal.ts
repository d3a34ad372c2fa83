import type { ErrorRequestHandler } from "express";
import { isDatabaseAway } from "../../database/database.ts";
import { KitError, Refusal } from "../../errors.ts";
import { UnknownResource, UsedWrongly } from "../errors.ts";
import { Problem } from "../../pages/pages.tsx";
import { operatorProblem, refused } from "./problems.ts";

/** A passing condition, for which the common frame has an error page of its own. */
const PASSING = "overloaded";
/** A service that has just started waits for its database and checks what is stored there. */
const NOT_READY = "not_ready";

/**
 * Shows an operation's refusal as a page, in its own words, as the command line does; and an unavailable database as a
 * page with a link to the check-up, which does not need the database. Any other error is passed on to the page for
 * unforeseen errors.
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
