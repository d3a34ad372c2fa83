import type { Request } from "express";
import { isDatabaseAway } from "../database/database.ts";
import { mayQuote } from "../redact.ts";
import type { Account } from "../platform/account.ts";
import type { IssuedTokens, TokenEndpoint } from "../platform/oauth.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import type { Attempts, Begun } from "./attempts.ts";
import type { OAuthClient } from "./oauth-client.ts";
import { accountProblem, authorizeProblem, exchangeProblem } from "./platform-problems.ts";
import { leadingTo, problem } from "./problems.ts";
import { isEnough } from "./scopes.ts";
import type { NewPerson, Sessions } from "./sessions.ts";
import { personSealContext } from "./tokens/seal-context.ts";

/** A completed sign-in: who signed in, the id for the browser's cookie, and where to go. */
export interface SignedIn {
  begun: Begun;
  person: NewPerson;
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
  accountOf(token: Secret): Promise<Account>;
  vault: Vault;
  /** Called with the tokens' lifetime in seconds once they are stored. */
  onStored(lifeSeconds: number): void;
}) {
  const { attempts, sessions, client, endpoint, accountOf, vault, onStored } = needs;

  function begunIn(request: Request): Begun {
    const { state, error } = request.query;
    // A denial may come without the state (RFC 6749 asks for it). Whoever made it up has only this page to show.
    if (state === undefined && error === "access_denied") throw authorizeProblem("access_denied");
    const begun = attempts.find(request);
    if (!begun) throw problem(state === undefined ? "state_missing" : "state_unknown");
    if (begun.isExpired) throw leadingTo(begun.returnTo, problem("state_expired"));
    return begun;
  }

  function codeIn({ query: { code, error } }: Request): Secret {
    if (typeof error === "string" && error !== "") throw authorizeProblem(error);
    if (typeof code !== "string" || !CODE.test(code)) throw problem("code_missing");
    return new Secret(code);
  }

  async function tokensFor(code: Secret, { verifier }: Begun): Promise<IssuedTokens> {
    const answer = await endpoint.exchange(code, client.secret, verifier);
    if (answer.outcome === "client_rejected") client.rejected();
    if (answer.outcome !== "issued") throw exchangeProblem(answer);
    client.accepted();
    return answer.tokens;
  }

  async function open(tokens: IssuedTokens, code: Secret, { state, scopes: asked }: Begun) {
    const { accessToken, refreshToken, lifeSeconds, scopes = asked } = tokens;
    const account = await accountOf(accessToken).catch((error: unknown) => {
      throw accountProblem(mayQuote(error, [code, ...(refreshToken ? [refreshToken] : [])]));
    });
    const { id } = account;
    const access = vault.seal(personSealContext("sealed_access_token", id), accessToken);
    const refresh = refreshToken && vault.seal(personSealContext("sealed_refresh_token", id), refreshToken);
    const person = { ...account, scopes, access, refresh, lifeSeconds };
    // The code is used up, so the same callback cannot be retried.
    const session = await sessions.open(person, state).catch((error: unknown) => {
      throw isDatabaseAway(error) ? problem("session_not_kept", error) : error;
    });
    if (!session) throw problem("state_unknown");
    onStored(lifeSeconds);
    return { person, session };
  }

  async function signIn(request: Request, begun: Begun): Promise<SignedIn> {
    const code = codeIn(request);
    const tokens = await tokensFor(code, begun);
    // A page that needs more scopes than were granted would send the browser back to the platform in an endless loop.
    const isServed = isEnough(tokens.scopes ?? begun.scopes, begun.scopes);
    return { begun, ...(await open(tokens, code, begun)), returnTo: isServed ? begun.returnTo : null };
  }

  return async function complete(request: Request): Promise<SignedIn> {
    const begun = begunIn(request);
    return signIn(request, begun).catch((error: unknown) => {
      throw leadingTo(begun.returnTo, error);
    });
  };
}
