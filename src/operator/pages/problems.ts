import type { ErrorRequestHandler } from "express";
import { KitError, Refusal } from "../../errors.ts";
import { isPassing, NOT_AVAILABLE, Problem, type Told } from "../../pages/problem.tsx";
import { UnknownResource, UsedWrongly } from "../errors.ts";

/**
 * The address that asks a browser for the password. It is `/operator` itself and no path below it, or the browser would
 * send the password only to that path.
 */
export const WITH_PASSWORD = "/operator?with=password";

const TO_THE_CHECK_UP = { label: "To the check-up", path: "/operator/check-up" };
const TO_THE_RESOURCES = { label: "To the resources", path: "/operator/resources" };

/** What an operator can do while the database is unreachable, which the check-up does not need. */
export function notNow(cause: unknown, next: Told["next"] = TO_THE_CHECK_UP): Problem {
  const advice = "Wait a moment, then load this page again. The check-up opens before.";
  return new Problem("not_available", { ...NOT_AVAILABLE, advice, ...(next && { next }) }, { cause });
}

/** A refusal by an operation itself; its sentence may be shown. */
export function refused(id: string, status: number, happened: string, next = TO_THE_RESOURCES): Problem {
  const title = status === 404 ? "There is nothing here" : "That cannot be done";
  return new Problem(id, { status, title, happened, advice: "Nothing was changed.", next });
}

/**
 * Shows an operation's refusal as a page, in its own words, as the command line does. Any other error is passed on to
 * the page for unforeseen errors.
 */
export function showRefusal(scrub: (text: string) => string): ErrorRequestHandler {
  return (error: unknown, _request, _response, next) => {
    if (isPassing(error)) return next(notNow(error));
    const isRefusal = error instanceof KitError && !(error instanceof Refusal || error instanceof Problem);
    next(isRefusal ? refused(error.id, statusOf(error), scrub(error.message)) : error);
  };
}

function statusOf(error: KitError): number {
  if (error instanceof UnknownResource) return 404;
  return error instanceof UsedWrongly ? 400 : 409;
}
