import type { ErrorRequestHandler } from "express";
import { isDatabaseAway } from "../../database/database.ts";
import { KitError, Refusal } from "../../errors.ts";
import { Problem, type Told } from "../../pages/problem.ts";
import { UnknownResource, UsedWrongly } from "../errors.ts";

/**
 * The address that asks a browser for the password. It is `/operator` itself and no path below it, or the browser would
 * send the password only to that path.
 */
export const WITH_PASSWORD = "/operator?with=password";

const NOTHING_DONE = {
  title: "Nothing was done",
  next: { label: "To the operator's pages", path: "/operator" },
};
const NOT_NOW = {
  ...{ status: 503, title: "Not available for the moment" },
  advice: "Wait a moment, then load this page again. The check-up opens meanwhile.",
  next: { label: "To the check-up", path: "/operator/check-up" },
};

/** The problems of these pages, and what the operator is told. */
const TOLD = {
  not_from_our_page: {
    ...{ ...NOTHING_DONE, status: 403 },
    happened: "This did not come from a page of ours, or the page was open for more than an hour.",
    advice: "Open the page again and press its button. If you pressed none: another site tried to.",
  },
  unreadable: {
    ...{ ...NOTHING_DONE, status: 400 },
    happened: "What was sent is no form that can be read.",
    advice: "Open the page again and press its button.",
  },
  sessions_away: {
    ...NOT_NOW,
    happened: "The service cannot reach its database, where it is written down who is signed in.",
    advice: "Wait a moment, then load this page again. With the password the check-up opens meanwhile.",
    next: { label: "Use the operator's password", path: WITH_PASSWORD },
  },
  not_ready: { ...NOT_NOW, happened: "The service has just started, and is not ready yet." },
  database_away: { ...NOT_NOW, happened: "The service cannot reach its database." },
} satisfies Record<string, Told>;

export function operatorProblem(id: keyof typeof TOLD, options?: ErrorOptions): Problem {
  return new Problem(id, TOLD[id], options);
}

const TO_THE_RESOURCES = { label: "To the resources", path: "/operator/resources" };

/** A refusal by an operation itself; its sentence may be shown. */
export function refused(id: string, status: number, happened: string, next = TO_THE_RESOURCES): Problem {
  const title = status === 404 ? "There is nothing here" : "That cannot be done";
  return new Problem(id, { status, title, happened, advice: "Nothing was changed.", next });
}

/**
 * Shows an operation's refusal as a page, in its own words, as the command line does; and an unreachable database as a
 * page with a link to the check-up, which does not need the database. Any other error is passed on to the page for
 * unforeseen errors.
 */
export function showRefusal(scrub: (text: string) => string): ErrorRequestHandler {
  return (error: unknown, _request, _response, next) => {
    if (isDatabaseAway(error)) return next(operatorProblem("database_away", { cause: error }));
    if (!(error instanceof KitError) || error instanceof Refusal || error instanceof Problem)
      return next(error);
    if (error.id === "not_ready") return next(operatorProblem("not_ready", { cause: error }));
    // A passing condition, for which the common frame has an error page.
    if (error.id === "overloaded") return next(error);
    next(refused(error.id, statusOf(error), scrub(error.message)));
  };
}

function statusOf(error: KitError): number {
  if (error instanceof UnknownResource) return 404;
  return error instanceof UsedWrongly ? 400 : 409;
}
