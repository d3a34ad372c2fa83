import type { ErrorRequestHandler } from "express";
import type { Context } from "../context.ts";
import { isDatabaseAway } from "../database/database.ts";
import { KitError, Refusal } from "../errors.ts";
import { addressOf } from "./address.ts";
import { show } from "./pages.tsx";

/** What a person is told when something cannot be done: what happened, and what to do now. Shown verbatim. */
export interface Told {
  status: number;
  title: string;
  /** Whole sentences that contain no text from outside. */
  happened: string;
  advice: string;
  /** A link for going on, as a path of this service. */
  next?: { label: string; path: string };
}

/** Thrown by a route that serves pages, and shown as a page. `cause` goes to the log alone. */
export class Problem extends KitError {
  readonly told: Told;

  constructor(id: string, told: Told, options?: ErrorOptions) {
    super(id, told.happened, options);
    this.told = told;
  }
}

export const NOT_AVAILABLE: Told = {
  status: 503,
  title: "Not available for the moment",
  happened: "The service cannot reach its database, or has just started.",
  advice: "Nothing is lost. Wait a moment, then load this page again.",
};

const OUR_FAULT: Told = {
  status: 500,
  title: "Something went wrong here",
  happened: "This is a fault of the service, not yours.",
  advice: "Try again. If it happens again, tell whoever runs this service the time: the log knows more.",
};

/** For a form that another site may have sent. `next`: to its page. */
export function notFromOurPage(next?: Told["next"]): Problem {
  return new Problem("not_from_our_page", {
    ...{ status: 403, title: "Nothing was done", ...(next && { next }) },
    happened: "This did not come from a page of ours, or the page was open for more than an hour.",
    advice: "Open our page again and press its button. If you pressed none: another site tried to.",
  });
}

/** The page for what a route of the site throws. A `Refusal`, or an address that is not well formed, is answered as JSON, as elsewhere. */
export function showProblem(ctx: Pick<Context, "config" | "log">): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (error instanceof Refusal || error instanceof URIError || response.headersSent) return next(error);
    const { status, title, happened, advice, next: link } = toldOf(error);
    // The resource that the page is about, if the part has set it.
    const uuid: unknown = response.locals["uuid"];
    const about = { requestId: request.id, ...(uuid !== undefined && { uuid }) };
    const { id, cause = isDatabaseAway(error) ? error : undefined } = error as KitError;
    if (status === 500) ctx.log.error({ ...about, error }, "A page failed");
    else
      ctx.log.warn(
        { ...about, ...(cause !== undefined && { error: cause }) },
        `A page says what went wrong: ${id ?? "not available"}`,
      );
    if (status === 503) response.setHeader("Retry-After", "5");
    const content = (
      <>
        <p>{happened}</p>
        <p>{advice}</p>
        {link && (
          <p>
            <a href={addressOf(ctx, request).base + link.path} role="button">
              {link.label}
            </a>
          </p>
        )}
      </>
    );
    show(ctx, request, response, { status, title, content });
  };
}

function toldOf(error: unknown): Told {
  if (error instanceof Problem) return error.told;
  return isPassing(error) ? NOT_AVAILABLE : OUR_FAULT;
}

/** Whether the service cannot answer for the moment. */
export function isPassing(error: unknown): boolean {
  return (
    isDatabaseAway(error) || (error instanceof KitError && ["overloaded", "not_ready"].includes(error.id))
  );
}
