import type { AuthorizeRequest } from "../oauth/authorize-request.ts";
import type { UserRecord } from "../world/records.ts";
import { scopes } from "../world/scopes.ts";
import { Layout } from "./layout.tsx";

interface Consent {
  asked: AuthorizeRequest;
  user: UserRecord;
  search: string;
  formToken: string;
}

/** Shows which client asks for which scopes, and what they mean: allow or deny. */
export function ConsentPage({ asked, user, search, formToken }: Consent) {
  return (
    <Layout title="Allow access" isNarrow>
      <article>
        <h1>{asked.client.name} asks for access to your account</h1>
        <ul>
          {asked.scope.map((name) => (
            <li>
              <strong>{name}</strong>: {scopes[name]?.meaning}
            </li>
          ))}
        </ul>
        <form method="post" action={`/oauth/authorize${search}`}>
          <input type="hidden" name="form_token" value={formToken} />
          <div class="grid">
            <button type="submit" name="decision" value="allow">
              Allow
            </button>
            <button type="submit" name="decision" value="deny" class="secondary outline">
              Deny
            </button>
          </div>
          <small>In both cases you return to {new URL(asked.redirectUri).origin}.</small>
        </form>
        <footer>
          <form method="post" action={`/oauth/authorize/sign-out${search}`}>
            <input type="hidden" name="form_token" value={formToken} />
            <p>
              You are signed in as <strong>{user.email}</strong>.
            </p>
            <button type="submit" class="secondary outline">
              Use another account
            </button>
          </form>
        </footer>
      </article>
    </Layout>
  );
}
