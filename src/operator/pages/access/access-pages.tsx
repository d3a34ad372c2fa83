import type { Page } from "../../../pages/pages.tsx";
import type { Person } from "../../../people/sign-in.ts";

/** The addresses of the ways to sign in. `password` is null if there is no password. */
export interface Ways {
  signIn: string;
  password: string | null;
  /** Whether the request was a form, which is then not carried out. */
  hasSent: boolean;
}

/**
 * The page for a person who is not signed in: it offers the ways to sign in, and is shown at the address that was asked
 * for.
 */
export function signInPage({ signIn, password, hasSent }: Ways): Page {
  return {
    title: "The operator's pages",
    status: 401,
    content: (
      <>
        {hasSent && <p>Nothing was done, for you are not signed in any more.</p>}
        <p>They are for those who run this service. Sign in with your account at the platform.</p>
        <p>
          <a href={signIn} role="button">
            Sign in
          </a>
        </p>
        {password !== null && (
          <p>
            <a href={password}>Use the operator's password</a>
          </p>
        )}
      </>
    ),
  };
}

/** The page for a person who is signed in but not listed as an operator: it says why, and how to change the account. */
export function notListedPage(
  { email, isEmailVerified, id }: Person,
  { signOut, password }: { signOut: string; password: string | null },
): Page {
  return {
    title: "Not for this account",
    status: 403,
    content: (
      <>
        <p>
          You are signed in as <strong>{email}</strong>, and the operator's pages are for other accounts.
        </p>
        <p>
          Whoever runs this service can let you in: {isEmailVerified && "with this e-mail, or "}with the
          account's id <code>{id}</code>, in <code>OPERATOR_ACCOUNTS</code>.
        </p>
        <form method="post" action={signOut}>
          <button type="submit">Sign out</button>
        </form>
        {password !== null && (
          <p>
            <a href={password}>Use the operator's password</a>
          </p>
        )}
      </>
    ),
  };
}
