import { KitError } from "../errors.ts";
import { isPassing, NOT_AVAILABLE, Problem, type Told } from "../pages/problem.tsx";
import { isPlatformAway, PlatformRefused } from "../platform/errors.ts";
import type { NotIssued } from "../platform/oauth.ts";

const LOGIN = "/oauth/login";
const SIGN_IN = { label: "Sign in", path: LOGIN };
const AGAIN = { label: "Try again", path: LOGIN };
const WHO = { label: "See who is signed in", path: "/oauth/me" };
const NOTHING_DONE = "Nothing was stored, and nobody was signed in.";
const FROM_THE_DASHBOARD = "Open the add-on from the platform's dashboard: that signs you on.";

/** What can go wrong for a person who signs in, or a customer who signs on, and the text of its page. */
const TOLD = {
  denied: {
    ...{ status: 403, title: "You said no", next: AGAIN },
    happened: "The platform says that you did not allow this service to know who you are.",
    advice: `${NOTHING_DONE} If that was a mistake, try again and choose to allow it.`,
  },
  state_unknown: {
    ...{ status: 400, title: "This sign-in is over", next: WHO },
    happened:
      "It was completed already, it ran out, or it did not begin in this browser, at this address. Or the browser does not keep cookies.",
    advice:
      "You may be signed in already: have a look. If you are not, you can sign in again there. If somebody sent you the link you followed, do not follow it again.",
  },
  not_completed: {
    ...{ status: 400, title: "This sign-in cannot be completed", next: AGAIN },
    happened:
      "It was completed already, more than ten minutes have passed since it began, or the platform's code is missing.",
    advice: "Sign in again.",
  },
  session_not_kept: {
    ...{ ...NOT_AVAILABLE, next: AGAIN },
    advice: "Wait a moment, then sign in again: loading this page again does not help.",
  },
  platform_fails: {
    ...{ status: 503, title: "The platform does not answer", next: AGAIN },
    happened: "The platform could not be reached, or its answer cannot be read: it has trouble of its own.",
    advice: `${NOTHING_DONE} Wait a minute, then try again; the platform's status page may say more.`,
  },
  platform_refuses_us: {
    ...{ status: 502, title: "The platform refuses this service" },
    happened: "The platform does not accept this service's request: its registration there is not in order.",
    advice: `${NOTHING_DONE} Trying again will not help: tell whoever runs this service.`,
  },
  account_refused: {
    ...{ status: 403, title: "The platform does not say who you are", next: AGAIN },
    happened: "What you allowed is not enough for this service to know who you are.",
    advice: `${NOTHING_DONE} Sign in again, and allow it to read your account's name and e-mail.`,
  },
  not_signed_in: {
    ...{ status: 401, title: "You are not signed in", next: SIGN_IN },
    happened: "Sign in with your account at the platform. A session ends an hour after it was last used.",
    advice:
      "The platform asks you who you are, and whether this service may know. No password is entered here.",
  },
  sign_in_again: {
    ...{ status: 401, title: "Please sign in again", next: SIGN_IN },
    happened:
      "The platform no longer accepts what you allowed when you signed in; perhaps you revoked it there.",
    advice: "Nothing more is done in your name. Sign in again to go on.",
  },
  sign_on_refused: {
    ...{ status: 403, title: "You are not signed on" },
    happened: "This way in is not valid, or not any more. Each one can be used once, within five minutes.",
    advice: `${FROM_THE_DASHBOARD} If that does not help, tell whoever runs this service the time.`,
  },
  sign_on_not_kept: {
    ...NOT_AVAILABLE,
    advice: "Wait a moment, then open the add-on from the platform's dashboard again.",
  },
  not_signed_on: {
    ...{ status: 401, title: "You are not signed on" },
    happened:
      "You have signed out, this page was not used for an hour, you signed on more than four hours ago, or the add-on was removed.",
    advice: FROM_THE_DASHBOARD,
  },
  page_late: {
    ...{ status: 503, title: "This takes too long" },
    happened: "Your add-on works; only this page about it could not be made in time.",
    advice: "Wait a moment, then load this page again.",
  },
  may_only_look: {
    ...{ status: 403, title: "Nothing was done" },
    happened: "The platform does not say just now that your role at the app allows this.",
    advice: "If you work on the app, try again in a moment; or ask somebody who does.",
  },
  not_now: {
    ...{ status: 429, title: "Nothing was done" },
    happened: "Something else is being done to this add-on, or much was done within the last hour.",
    advice: "Wait a minute, then try again.",
  },
} satisfies Record<string, Told>;

/**
 * The page for what went wrong, with a link where to go on. `cause`, an error or a sentence, goes to the log alone: a page reveals nothing to a
 * stranger.
 */
export function problem(id: keyof typeof TOLD, cause?: unknown, next?: Told["next"]): Problem {
  const told = next ? { ...TOLD[id], next } : TOLD[id];
  // Anybody can bring a sentence about, in any number: it is logged without a stack.
  return new Problem(id, told, { cause: typeof cause === "string" ? { message: cause } : cause });
}

/** Throws why a session was not stored: the code or the form may be used up, so sending it again does not help. */
export function notKept(id: "session_not_kept" | "sign_on_not_kept"): (error: unknown) => never {
  return (error) => {
    throw isPassing(error) ? problem(id, error) : error;
  };
}

/**
 * The same problem with a link that, after the next sign-in, leads to the page wanted first. Returns other errors
 * unchanged.
 */
export function leadingTo(returnTo: string | null, failed: unknown): unknown {
  if (!(failed instanceof Problem) || returnTo === null || failed.told.next?.path !== LOGIN) return failed;
  const next = { ...failed.told.next, path: `${LOGIN}?return_to=${encodeURIComponent(returnTo)}` };
  return new Problem(failed.id, { ...failed.told, next }, { cause: failed.cause });
}

/** Why the platform sent a browser back without a code (RFC 6749, section 4.1.2.1): `error` is its error code. */
export function authorizeProblem(error: string): Problem {
  if (error === "access_denied") return problem("denied");
  const isTransient = ["server_error", "temporarily_unavailable"].includes(error);
  // Anybody can write the query of a callback, so it does not reach the log.
  return problem(isTransient ? "platform_fails" : "platform_refuses_us", "The platform sent an error back.");
}

/** Why the platform issued no tokens for a code. */
export function exchangeProblem({ outcome, error }: NotIssued): Problem {
  if (outcome === "token_rejected" || outcome === "unauthorized") return problem("not_completed", error);
  if (outcome === "client_rejected" || outcome === "bug") return problem("platform_refuses_us", error);
  return problem("platform_fails", error);
}

/** Why the platform does not say whose the fresh tokens are. A fault of ours stays what it is. */
export function accountProblem(error: unknown): unknown {
  if (!(error instanceof KitError)) return error;
  if (!(error instanceof PlatformRefused) || isPlatformAway(error)) return problem("platform_fails", error);
  const isWithheld = error.status === 401 || error.status === 403;
  return problem(isWithheld ? "account_refused" : "platform_refuses_us", error);
}
