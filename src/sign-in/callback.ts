import { isDatabaseAway } from "../database/database.ts";
import { mayQuote } from "../redact.ts";
import type { AccountOf } from "../platform/account.ts";
import type { IssuedTokens, TokenEndpoint } from "../platform/oauth.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import type { Attempt, Attempts } from "./attempts.ts";
import type { OAuthClient } from "./oauth-client.ts";
import { accountProblem, authorizeProblem, exchangeProblem } from "./platform-problems.ts";
import { leadingTo, problem } from "./problems.ts";
import { readId } from "../web-sessions/random-id.ts";
import { isEnough } from "./scopes.ts";
import type { Sessions } from "./sessions.ts";
import { personSealContext } from "./tokens/seal-context.ts";

/** The query with which the platform sent the browser back, and the id in that browser's cookie. */
export interface Returned {
  query: Readonly<Record<string, unknown>>;
  browser: Secret | null;
}

/** A completed sign-in: the id for the browser's cookie, and where to go. */
export interface SignedIn {
  session: Secret;
  returnTo: string | null;
}

const CODE = /^[\x21-\x7e]{1,1024}$/;

/**
 * Completes a sign-in: state → code → tokens → account → session. Nothing is stored before the last step, so a failure
 * leaves nothing behind. Throws a `Problem`. Follows the platform document, "Authentication" 2.
 */
export function createCallback(needs: {
  attempts: Attempts;
  sessions: Sessions;
  client: OAuthClient;
  endpoint: TokenEndpoint;
  accountOf: AccountOf;
  vault: Vault;
  /** Called with the tokens' lifetime in seconds once they are stored. */
  onStored(lifeSeconds: number): void;
}) {
  const { attempts, sessions, client, endpoint, accountOf, vault, onStored } = needs;

  async function attemptOf({ query, browser }: Returned) {
    const state = readId(query["state"]);
    // A denial may come without the state (RFC 6749 asks for it). Whoever made it up has only this page to show.
    if (query["state"] === undefined && query["error"] === "access_denied")
      throw authorizeProblem("access_denied");
    if (!state) throw problem(query["state"] === undefined ? "state_missing" : "state_unknown");
    const taken = await attempts.take(state, browser).catch((error: unknown) => {
      throw isDatabaseAway(error) ? problem("state_not_read", error) : error;
    });
    if (taken.found === "it") return taken.attempt;
    if (taken.found === "expired") throw leadingTo(taken.attempt.returnTo, problem("state_expired"));
    throw problem(taken.found === "other_browser" ? "other_browser" : "state_unknown");
  }

  function codeIn({ query: { code, error } }: Returned): Secret {
    if (typeof error === "string" && error !== "") throw authorizeProblem(error);
    if (typeof code !== "string" || !CODE.test(code)) throw problem("code_missing");
    return new Secret(code);
  }

  async function tokensFor(code: Secret): Promise<IssuedTokens> {
    const answer = await endpoint.exchange(code, client.secret);
    if (answer.outcome === "client_rejected") client.rejected();
    if (answer.outcome !== "issued") throw exchangeProblem(answer);
    client.accepted();
    return answer.tokens;
  }

  async function open(tokens: IssuedTokens, code: Secret, asked: string[]): Promise<Secret> {
    const { accessToken, refreshToken, lifeSeconds, scopes = asked } = tokens;
    const { id, email, name } = await accountOf(accessToken).catch((error: unknown) => {
      throw accountProblem(mayQuote(error, [code, ...(refreshToken ? [refreshToken] : [])]));
    });
    const access = vault.seal(personSealContext("sealed_access_token", id), accessToken);
    const refresh = refreshToken && vault.seal(personSealContext("sealed_refresh_token", id), refreshToken);
    const person = { id, email, name, scopes, access, refresh, lifeSeconds };
    // State and code are used up, so the same callback cannot be retried.
    const session = await sessions.open(person).catch((error: unknown) => {
      throw isDatabaseAway(error) ? problem("session_not_kept", error) : error;
    });
    onStored(lifeSeconds);
    return session;
  }

  async function signIn(returned: Returned, { scopes, returnTo }: Attempt): Promise<SignedIn> {
    const code = codeIn(returned);
    const tokens = await tokensFor(code);
    // A page that needs more scopes than were granted would send the browser back to the platform in an endless loop.
    const isServed = isEnough(tokens.scopes ?? scopes, scopes);
    return { session: await open(tokens, code, scopes), returnTo: isServed ? returnTo : null };
  }

  return async function complete(returned: Returned): Promise<SignedIn> {
    const attempt = await attemptOf(returned);
    return signIn(returned, attempt).catch((error: unknown) => {
      throw leadingTo(attempt.returnTo, error);
    });
  };
}
