import { Problem, type Told } from "../pages/pages.tsx";
import { PlatformRefused, TransportError, UnreadableAnswer } from "../platform/errors.ts";
import type { NotIssued } from "../platform/oauth.ts";

const LOGIN = "/oauth/login";
const SIGN_IN = { label: "Sign in", path: LOGIN };
const AGAIN = { label: "Try again", path: LOGIN };
const WHO = { label: "See who is signed in", path: "/oauth/me" };
const NOTHING_DONE = "Nothing was stored, and nobody was signed in.";
const PLATFORM_LATER = `${NOTHING_DONE} Wait a minute, then try again; the platform's status page may say more.`;
const TELL_OPERATOR = `${NOTHING_DONE} Trying again will not help: tell whoever runs this service.`;

/** Everything that can go wrong during a sign-in, and the text of its page. */
const TOLD = {
  denied: {
    ...{ status: 403, title: "You said no", next: AGAIN },
    happened: "The platform says that you did not allow this service to know who you are.",
    advice: `${NOTHING_DONE} If that was a mistake, try again and choose to allow it.`,
  },
  state_missing: {
    ...{ status: 400, title: "This is not a way to begin", next: SIGN_IN },
    happened: "This address belongs to the end of a sign-in, and something is missing in it.",
    advice: "Begin with the button below.",
  },
  state_unknown: {
    ...{ status: 400, title: "This sign-in is over", next: WHO },
    happened:
      "It was completed already, it ran out, or it did not begin in this browser, at this address. Or the browser does not keep cookies.",
    advice:
      "You may be signed in already: have a look. If you are not, you can sign in again there. If somebody sent you the link you followed, do not follow it again.",
  },
  state_expired: {
    ...{ status: 400, title: "That took too long", next: AGAIN },
    happened: "More than ten minutes passed between the beginning of this sign-in and its end.",
    advice: `${NOTHING_DONE} Sign in again.`,
  },
  code_missing: {
    ...{ status: 400, title: "The platform's answer is incomplete", next: AGAIN },
    happened: "The platform sent you back without the code that completes a sign-in.",
    advice: `${NOTHING_DONE} Sign in again.`,
  },
  code_refused: {
    ...{ status: 400, title: "The platform's code is no longer good", next: AGAIN },
    happened: "The code with which the platform sent you back has run out, or was used already.",
    advice: `${NOTHING_DONE} Sign in again.`,
  },
  return_to_refused: {
    ...{ status: 400, title: "That is not a page of ours", next: SIGN_IN },
    happened: "You were to be sent to an address that is not part of this service after signing in.",
    advice: "If somebody sent you the link you followed, do not follow it again. You can sign in without it.",
  },
  session_not_kept: {
    ...{ status: 503, title: "Not available for the moment", next: AGAIN },
    happened: "The service cannot reach its database, where it would have recorded that you are signed in.",
    advice: "Wait a moment, then sign in again: loading this page again does not help.",
  },
  platform_says_later: {
    ...{ status: 503, title: "The platform does not answer", next: AGAIN },
    happened: "The platform could not be reached, or it has trouble of its own.",
    advice: PLATFORM_LATER,
  },
  platform_unreadable: {
    ...{ status: 502, title: "The platform's answer makes no sense", next: AGAIN },
    happened: "The platform answered with something that this service cannot read.",
    advice: PLATFORM_LATER,
  },
  platform_refuses_us: {
    ...{ status: 502, title: "The platform refuses this service" },
    happened: "The platform does not accept this service's request: its registration there is not in order.",
    advice: TELL_OPERATOR,
  },
  account_refused: {
    ...{ status: 403, title: "The platform does not say who you are", next: AGAIN },
    happened: "What you allowed is not enough for this service to know who you are.",
    advice: `${NOTHING_DONE} Sign in again, and allow it to read your account's name and e-mail.`,
  },
  cross_site: {
    ...{
      status: 403,
      title: "That did not come from our page",
      next: WHO,
    },
    happened: "Another site tried to sign you out, or your browser hides where the request came from.",
    advice: "You are still signed in. Sign out with the button on our own page.",
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
  not_allowed: {
    ...{
      status: 403,
      title: "Not for this account",
      next: WHO,
    },
    happened: "You are signed in, but this page is for other accounts.",
    advice: "Sign in with another account, or ask whoever runs this service to let yours in.",
  },
} satisfies Record<string, Told>;

export type ProblemId = keyof typeof TOLD;

/** The page for what went wrong; `cause` goes to the log alone. */
export function problem(id: ProblemId, cause?: unknown): Problem {
  return new Problem(id, TOLD[id], { cause });
}

/**
 * The same problem with a link that, after the next sign-in, leads to the page wanted first. Returns other errors
 * unchanged.
 */
export function leadingTo(returnTo: string | null, failed: unknown): unknown {
  if (!(failed instanceof Problem) || returnTo === null) return failed;
  const { id, told, cause } = failed;
  if (told.next?.path !== LOGIN) return failed;
  const next = { ...told.next, path: `${LOGIN}?return_to=${encodeURIComponent(returnTo)}` };
  return new Problem(id, { ...told, next }, { cause });
}

/** Why the platform sent a browser back without a code (RFC 6749, section 4.1.2.1): `error` is its error code. */
export function authorizeProblem(error: string): Problem {
  if (error === "access_denied") return problem("denied");
  const isTransient = ["server_error", "temporarily_unavailable"].includes(error);
  return problem(isTransient ? "platform_says_later" : "platform_refuses_us", { authorize: known(error) });
}

/** Why the platform issued no tokens for a code. */
export function exchangeProblem({ outcome, error }: NotIssued): Problem {
  if (outcome === "token_rejected" || outcome === "unauthorized") return problem("code_refused", error);
  if (outcome === "client_rejected" || outcome === "bug") return problem("platform_refuses_us", error);
  if (["unreadable_answer", "answer_too_large"].includes(error.id))
    return problem("platform_unreadable", error);
  return problem("platform_says_later", error);
}

/**
 * Why the platform does not say whose the fresh tokens are. An error that is not the platform's is returned as it is.
 */
export function accountProblem(error: unknown): unknown {
  if (error instanceof PlatformRefused) return refusedAccount(error);
  const isTooLarge = error instanceof TransportError && error.id === "answer_too_large";
  if (error instanceof UnreadableAnswer || isTooLarge) return problem("platform_unreadable", error);
  return error instanceof TransportError ? problem("platform_says_later", error) : error;
}

function refusedAccount(error: PlatformRefused): Problem {
  if (error.status === 401 || error.status === 403) return problem("account_refused", error);
  return problem(isForLater(error) ? "platform_says_later" : "platform_refuses_us", error);
}

/** Whether a retry soon may succeed. */
export function isForLater({ status }: PlatformRefused): boolean {
  return status === 429 || status >= 500;
}

const ERRORS = ["invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope"];

/** Anybody can write the query of a callback, so only error codes that we know reach the log. */
function known(error: string): string {
  return [...ERRORS, "server_error", "temporarily_unavailable"].includes(error) ? error : "another word";
}

const FROM_THE_DASHBOARD = "Open the add-on from the platform's dashboard: that signs you on.";

/** Everything that can go wrong for a customer, and the text of its page. */
const CUSTOMER_TOLD = {
  sign_on_refused: {
    ...{ status: 403, title: "You are not signed on" },
    happened: "This way in is not valid, or not any more. Each one can be used once, within five minutes.",
    advice: `${FROM_THE_DASHBOARD} If that does not help, tell whoever runs this service the time.`,
  },
  sign_on_not_kept: {
    ...{ status: 503, title: "Not available for the moment" },
    happened: "The service cannot reach its database, where it would have recorded that you are signed on.",
    advice: "Wait a moment, then open the add-on from the platform's dashboard again.",
  },
  not_signed_on: {
    ...{ status: 401, title: "You are not signed on" },
    happened:
      "You have signed out, this page was not used for an hour, you signed on more than four hours ago, or the add-on was removed.",
    advice: FROM_THE_DASHBOARD,
  },
  cross_site: {
    ...{ status: 403, title: "That did not come from our page" },
    happened: "Another site tried to sign you out, or your browser hides where the request came from.",
    advice: "You are still signed on. Sign out with the button on our own page.",
  },
  page_late: {
    ...{ status: 503, title: "This takes too long" },
    happened: "Your add-on works; only this page about it could not be made in time.",
    advice: "Wait a moment, then load this page again.",
  },
} satisfies Record<string, Told>;

export type CustomerProblemId = keyof typeof CUSTOMER_TOLD;

/**
 * The page for what went wrong. `why`, an error or a short code, goes to the log alone: the page reveals nothing to a
 * stranger. A code is logged without a stack, which would say nothing about a form and would let strangers fill the
 * log.
 */
export function customerProblem(id: CustomerProblemId, why?: unknown): Problem {
  const cause = typeof why === "string" ? { id: why, message: SENTENCES[why] ?? why } : why;
  return new Problem(id, CUSTOMER_TOLD[id], { cause });
}

const SENTENCES: Readonly<Record<string, string>> = {
  unreadable: "The sign-on was no form that can be read.",
  incomplete: "The sign-on lacks a member, or one is malformed.",
  wrong_token: "A token of the sign-on does not fit SSO_SALT and the other members.",
  no_user_token: "The sign-on names no user, and SSO_REQUIRE_USER is not off.",
  stale: "The sign-on was signed more than 5 minutes ago, or more than 1 minute in the future.",
  used: "The sign-on was used before.",
  gone: "The sign-on is for a resource that does not exist, or not any more.",
};
