import { KitError, type Refusal } from "../errors.ts";
import { type Explanation, Problem } from "../pages/pages.tsx";
import { PlatformRefused } from "../platform/call.ts";
import type { NotIssued } from "../platform/oauth.ts";

const SIGN_IN = { label: "Sign in", path: "/oauth/login" };
const NOTHING_DONE = "Nothing was stored, and nobody was signed in.";
const FROM_THE_DASHBOARD = "Open the add-on from the platform's dashboard: that signs you on.";

/** What can go wrong for a person who signs in, or a customer who signs on, and the text of its page. */
const PROBLEMS = {
  denied: {
    status: 403,
    title: "The platform does not say who you are",
    next: SIGN_IN,
    happened: "What you allowed is not enough for this service to know who you are.",
    advice: `${NOTHING_DONE} If that was a mistake, sign in again, and allow it to read your name and e-mail.`,
  },
  not_completed: {
    status: 400,
    title: "This sign-in cannot be completed",
    next: SIGN_IN,
    happened:
      "It was completed already, more than ten minutes have passed, or it did not begin in this browser, at this address. Or the browser does not keep cookies.",
    advice: "Sign in again. If somebody sent you the link you followed, do not follow it again.",
  },
  platform_fails: {
    status: 503,
    title: "The platform cannot complete this sign-in",
    next: SIGN_IN,
    happened: "It could not be reached, its answer cannot be read, or it refuses this service's request.",
    advice: `${NOTHING_DONE} Wait a minute, then try again. If that does not help, tell whoever runs this service.`,
  },
  not_signed_in: {
    status: 401,
    title: "You are not signed in",
    next: SIGN_IN,
    happened:
      "Sign in with your account at the platform. A session ends an hour after it was last used, or when the platform no longer accepts what you allowed.",
    advice:
      "The platform asks you who you are, and whether this service may know. No password is entered here.",
  },
  sign_on_refused: {
    status: 403,
    title: "You are not signed on",
    happened: "This way in is not valid, or not any more. Each one can be used once, within five minutes.",
    advice: `${FROM_THE_DASHBOARD} If that does not help, tell whoever runs this service the time.`,
  },
  clocks_differ: {
    status: 403,
    title: "You are not signed on",
    happened:
      "The clocks of this service do not agree, so it cannot tell whether you come in time. That is a fault of the service, not yours.",
    advice: "Whoever runs it gets an alarm. Try again later, from the platform's dashboard.",
  },
  not_signed_on: {
    status: 401,
    title: "You are not signed on",
    happened:
      "You have signed out, this page was not used for an hour, you signed on more than four hours ago, or the add-on was removed.",
    advice: FROM_THE_DASHBOARD,
  },
  may_only_look: {
    status: 403,
    title: "Nothing was done",
    happened: "The platform does not say just now that your role at the app allows this.",
    advice: "If you work on the app, try again in a moment; or ask somebody who does.",
  },
  no_such_page: {
    status: 404,
    title: "There is nothing here",
    happened: "This add-on has no page or file of this name, or not any more.",
    advice: "Look for it on the overview.",
  },
  not_for_role: {
    status: 403,
    title: "This is not for everybody",
    happened: "The platform does not say just now that your role at the app lets you see this.",
    advice: "If it should, try again in a moment; or ask somebody whose role does.",
  },
  not_now: {
    status: 429,
    title: "Nothing was done",
    happened: "Something else is being done to this add-on.",
    advice: "Wait a minute, then try again.",
  },
} satisfies Record<string, Explanation>;

/** `cause`, an error or a sentence, goes to the log alone: a page reveals nothing to a stranger. */
export function problem(id: keyof typeof PROBLEMS, cause?: unknown, next?: Explanation["next"]): Problem {
  const explanation = next ? { ...PROBLEMS[id], next } : PROBLEMS[id];
  // Anybody can bring a sentence about, in any number: it is logged without a stack.
  return new Problem(id, explanation, { cause: typeof cause === "string" ? { message: cause } : cause });
}

/** A refusal by the vendor's code, in its own words, as a page. */
export function refusedByVendor({ id, status, message }: Refusal, next: Explanation["next"]): Problem {
  const title = status === 404 ? "There is nothing here" : "This cannot be shown";
  return new Problem(id, { status, title, happened: message, advice: "", ...(next && { next }) });
}

/** Why the platform sent a browser back without a code (RFC 6749, section 4.1.2.1): `error` is its error code. */
export function authorizeProblem(error: string): Problem {
  if (error === "access_denied") return problem("denied");
  // Anybody can write the query of a callback, so it does not reach the log.
  return problem("platform_fails", "The platform sent an error back.");
}

export function exchangeProblem({ outcome, error }: NotIssued): Problem {
  const isCodes = outcome === "token_rejected" || outcome === "unauthorized";
  return problem(isCodes ? "not_completed" : "platform_fails", error);
}

/** Why the platform does not say whose the fresh tokens are. A fault of ours stays what it is. */
export function accountProblem(error: unknown): unknown {
  if (!(error instanceof KitError)) return error;
  const isDenied = error instanceof PlatformRefused && [401, 403].includes(error.status);
  return problem(isDenied ? "denied" : "platform_fails", error);
}
