import { KitError } from "../errors.ts";

/** What a person is told when something cannot be done: what happened, and what to do now. Shown verbatim. */
export interface Told {
  status: number;
  title: string;
  /** Whole sentences that contain no text from outside. */
  happened: string;
  advice: string;
  /** A link for going on, as a path of this service. */
  next?: { label: string; path: string };
  /** With status 503: after how many seconds a client may retry; 5 if not given. */
  retryAfterSeconds?: number;
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

export const NO_ADDRESS: Told = {
  status: 400,
  title: "That is no address",
  happened: "The address of this page is not well formed: a % stands where none can.",
  advice: "If you followed a link, tell whoever gave it to you. If you typed it, look at it again.",
};

export const OUR_FAULT: Told = {
  status: 500,
  title: "Something went wrong here",
  happened: "This is a fault of the service, not yours.",
  advice: "Try again. If it happens again, tell whoever runs this service the time: the log knows more.",
};
