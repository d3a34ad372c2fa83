import type { AuthorizeRequest } from "../oauth/authorize-request.ts";
import type { UserRecord } from "../world/records.ts";
import { Layout } from "./layout.tsx";

/** How many users are offered; all others sign in by e-mail. */
const MOST_CHOICES = 6;

interface SignIn {
  asked: AuthorizeRequest;
  users: UserRecord[];
  search: string;
  formToken: string;
}

/** Signs a person in as one of the sandbox's users, or as any e-mail address; there are no passwords. */
export function SignInPage({ asked, users, search, formToken }: SignIn) {
  const action = `/oauth/authorize/sign-in${search}`;
  return (
    <Layout title="Sign in" isNarrow>
      <article>
        <hgroup>
          <h1>Sign in</h1>
          <p>
            to continue to <strong>{asked.client.name}</strong>
          </p>
        </hgroup>
        <form method="post" action={action} class="choices">
          <input type="hidden" name="form_token" value={formToken} />
          {users.slice(0, MOST_CHOICES).map(({ email }) => (
            <button type="submit" name="user" value={email} class="outline">
              {email}
            </button>
          ))}
        </form>
        <hr />
        <form method="post" action={action}>
          <input type="hidden" name="form_token" value={formToken} />
          <label>
            Or by e-mail
            <input type="email" name="user" required autocomplete="username" placeholder="you@example.com" />
            <small>A new address gets an account.</small>
          </label>
          <button type="submit">Sign in</button>
        </form>
      </article>
    </Layout>
  );
}
