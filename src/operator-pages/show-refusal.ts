import type { ErrorRequestHandler } from "express";
import { KitError, Refusal } from "../errors.ts";
import { UnknownResource, UsedWrongly } from "../operator/errors.ts";
import { Problem } from "../pages/pages.tsx";
import { refused } from "./problems.ts";

/** These pass with time; the frame of all pages has words for them. */
const PASSING = ["database_unavailable", "overloaded", "not_ready"];

/**
 * A page of what an operation says no with, in its own sentence, as the command line shows it. Anything else goes on, to
 * be a page for what nobody foresaw.
 */
export function showRefusal(scrub: (text: string) => string): ErrorRequestHandler {
  return (error: unknown, _request, _response, next) => {
    const isToShow =
      error instanceof KitError &&
      !(error instanceof Refusal || error instanceof Problem || PASSING.includes(error.id));
    next(isToShow ? refused(error.id, statusOf(error), scrub(error.message)) : error);
  };
}

function statusOf(error: KitError): number {
  if (error instanceof UnknownResource) return 404;
  return error instanceof UsedWrongly ? 400 : 409;
}
