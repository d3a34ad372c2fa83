import { Problem, type Told } from "../pages/pages.tsx";

const FROM_THE_DASHBOARD = "Open the add-on from the platform's dashboard: that signs you on.";

/** Everything that can go wrong for a customer, and the text of its page. */
const TOLD = {
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

export type CustomerProblemId = keyof typeof TOLD;

/**
 * The page for what went wrong. `why`, an error or a short code, goes to the log alone: the page reveals nothing to a
 * stranger. A code is logged without a stack, which would say nothing about a form and would let strangers fill the
 * log.
 */
export function customerProblem(id: CustomerProblemId, why?: unknown): Problem {
  const cause = typeof why === "string" ? { id: why, message: SENTENCES[why] ?? why } : why;
  return new Problem(id, TOLD[id], { cause });
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
