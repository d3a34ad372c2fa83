import type { HttpAnswer } from "./http.ts";
import { AnswerTooLarge, RedirectRefused, TransportError } from "./http-errors.ts";
import { retryAfterMs } from "./retry-after.ts";

/** An answer of any status, or why there is none. */
export type Outcome = HttpAnswer | TransportError;

/** What one call has been through so far. */
export interface Past {
  waits: number;
  hasRenewed: boolean;
}

export type NextStep = { step: "done" } | { step: "renew" } | { step: "wait"; waitMs: number };

const DONE: NextStep = { step: "done" };
const MOST_WAITS = 2;
/** A longer wait is left to the caller, which may have to give back a lease or a connection first. */
const MOST_WAIT_MS = 10_000;
const FIRST_WAIT_MS = 400;

/**
 * The one place that decides whether a call is tried again.
 *
 * - 401: nothing was done, whatever the method. Renew the token once; a second 401 is not the token's fault.
 * - GET: at most twice more, after a failure that may pass by itself (429, 5xx, most transport errors).
 * - Every other method changes something and is never repeated here. The caller has a row that says what is to be done,
 *   and compares before it asks again.
 * - 403 and every other 4xx: final.
 */
export function nextStep(method: string, outcome: Outcome, past: Past, random: () => number): NextStep {
  if (isAnswer(outcome) && outcome.status === 401) return past.hasRenewed ? DONE : { step: "renew" };
  if (method !== "GET" || past.waits >= MOST_WAITS || !mayPass(outcome)) return DONE;
  const waitMs = (isAnswer(outcome) && retryAfterMs(outcome.headers)) || backoffMs(past.waits, random);
  return waitMs > MOST_WAIT_MS ? DONE : { step: "wait", waitMs };
}

function mayPass(outcome: Outcome): boolean {
  if (isAnswer(outcome)) return outcome.status === 429 || outcome.status >= 500;
  return !(outcome instanceof AnswerTooLarge || outcome instanceof RedirectRefused); // these would come again
}

/**
 * Doubles with each wait, and is spread over its upper half, so that calls that failed together do not return together.
 */
function backoffMs(waits: number, random: () => number): number {
  return FIRST_WAIT_MS * 2 ** waits * (0.5 + random() / 2);
}

export function isAnswer(outcome: Outcome): outcome is HttpAnswer {
  return !(outcome instanceof TransportError);
}
