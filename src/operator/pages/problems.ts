import type { ErrorRequestHandler } from "express";
import { KitError, Refusal } from "../../errors.ts";
import { isPassing, Problem } from "../../pages/problem.tsx";
import { UnknownResource, UsedWrongly } from "../errors.ts";

/**
 * The address that asks a browser for the password. It is `/operator` itself and no path below it, or the browser would
 * send the password only to that path.
 */
export const WITH_PASSWORD = "/operator?with=password";

/** A refusal by an operation itself; its sentence may be shown. */
export function refused(id: string, status: number, happened: string): Problem {
  const title = status === 404 ? "There is nothing here" : "That cannot be done";
  return new Problem(id, { status, title, happened, advice: "Nothing was changed." });
}

/**
 * Shows an operation's refusal as a page, in its own words, as the command line does. Any other error is passed on to
 * the page for unforeseen errors.
 */
export function showRefusal(scrub: (text: string) => string): ErrorRequestHandler {
  return (error: unknown, _request, _response, next) => {
    const isOther = error instanceof Refusal || error instanceof Problem || isPassing(error);
    const isRefusal = error instanceof KitError && !isOther;
    next(isRefusal ? refused(error.id, statusOf(error), scrub(error.message)) : error);
  };
}

function statusOf(error: KitError): number {
  if (error instanceof UnknownResource) return 404;
  return error instanceof UsedWrongly ? 400 : 409;
}
