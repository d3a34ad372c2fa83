import type { Page } from "../../pages/pages.tsx";
import type { Person } from "../../sign-in/sign-in.ts";

/** Where the ways in are; null: there is no such way. */
export interface Ways {
  signIn: string;
  password: string | null;
  /** Whether a form was sent, which comes to nothing. */
  hasSent: boolean;
}

/** For who is not signed in: the ways there are. It stands at the address that was asked for. */
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

/** For who is signed in and may not see these pages: why, and the way to be somebody else. */
export function notListedPage(
  { email, id }: Person,
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
          Whoever runs this service can let you in: with this e-mail, or with the account's id{" "}
          <code>{id}</code>, in <code>OPERATOR_ACCOUNTS</code>.
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
