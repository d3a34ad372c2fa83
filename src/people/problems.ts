import { Problem, type Told } from "../pages/pages.tsx";

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
