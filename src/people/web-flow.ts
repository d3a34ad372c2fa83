import type { Request, Response } from "express";
import type { Context } from "../context.ts";
import type { Admission } from "../credentials/admission.ts";
import type { PeopleClient } from "../credentials/client-secret.ts";
import { credentialSealContext } from "../credentials/sealed.ts";
import { shareOfLife } from "../credentials/verdict.ts";
import { isDatabaseAway } from "../database/database.ts";
import type { Pages } from "../pages/pages.tsx";
import { accountOf } from "../platform/account.ts";
import { createTokenEndpoint, type IssuedTokens } from "../platform/oauth.ts";
import { mayQuote } from "../redact.ts";
import { Secret } from "../secret.ts";
import { beginAttempt, findAttempt, type Attempt, type Begun } from "./attempts.ts";
import { accountProblem, authorizeProblem, exchangeProblem, leadingTo, problem } from "./problems.ts";
import { isEnough, scopesToAsk } from "./scopes.ts";
import { openSession, type NewPerson } from "./store.ts";

/** What the pages for people need: the context, the frame of all pages, and the client that people sign in with. */
export interface Web extends Pick<
  Context,
  "config" | "credentials" | "db" | "vault" | "log" | "platformCalls" | "nudge"
> {
  pages: Pages;
  client: Admission<PeopleClient>;
}

/** A completed sign-in: who signed in, the id for the browser's cookie, and where to go. */
export interface SignedIn {
  begun: Begun;
  person: NewPerson;
  session: Secret;
  returnTo: string | null;
}

const CODE = /^[\x21-\x7e]{1,1024}$/;
/** How long a call to the token endpoint may take while a person waits in front of a browser. */
const PERSON_WAITS_MS = 10_000;

/**
 * Sends a browser to the platform to sign in (platform document, "Endpoints: Authorization service"), with a code
 * challenge (RFC 7636), which a platform that does not know it ignores.
 */
export function beginSignIn(
  web: Web,
  request: Request,
  response: Response,
  { scopes, returnTo }: { scopes: readonly string[]; returnTo: string | null },
): void {
  const asked = scopesToAsk(scopes);
  const attempt: Attempt = { scopes: asked, returnTo };
  const { state, challenge } = beginAttempt(web, request, response, attempt);
  const query = {
    ...{ client_id: web.client.client.id, response_type: "code", scope: asked.join(" "), state },
    ...{ code_challenge: challenge, code_challenge_method: "S256" },
  };
  // Percent-encoded: `+` for a space is a convention of forms, which not every URL parser shares.
  const encoded = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  response
    .status(303)
    .set("Location", `${web.config.platformAuthUrl}/oauth/authorize?${encoded.join("&")}`)
    .end();
}

/**
 * Completes a sign-in: state → code → tokens → account → session. Nothing is stored before the last step, so a failure
 * leaves nothing behind. Throws a `Problem`. Follows the platform document, "Authentication" 2.
 */
export async function completeSignIn(web: Web, request: Request): Promise<SignedIn> {
  const begun = begunIn(web, request);
  try {
    const code = codeIn(request);
    const tokens = await tokensFor(web, code, begun);
    // A page that needs more scopes than were granted would send the browser back to the platform in an endless loop.
    const isServed = isEnough(tokens.scopes ?? begun.scopes, begun.scopes);
    const signedIn = await openFor(web, begun, code, tokens);
    return { begun, ...signedIn, returnTo: isServed ? begun.returnTo : null };
  } catch (error) {
    throw leadingTo(begun.returnTo, error);
  }
}

function begunIn(web: Web, request: Request): Begun {
  const { state, error } = request.query;
  // A denial may come without the state (RFC 6749 asks for it). Whoever made it up has only this page to show.
  if (state === undefined && error === "access_denied") throw authorizeProblem("access_denied");
  const begun = findAttempt(web, request);
  if (!begun) throw problem(state === undefined ? "state_missing" : "state_unknown");
  if (begun.isExpired) throw leadingTo(begun.returnTo, problem("state_expired"));
  return begun;
}

function codeIn({ query: { code, error } }: Request): Secret {
  if (typeof error === "string" && error !== "") throw authorizeProblem(error);
  if (typeof code !== "string" || !CODE.test(code)) throw problem("code_missing");
  return new Secret(code);
}

async function tokensFor(
  { client: { client }, config, platformCalls: { http } }: Web,
  code: Secret,
  { verifier }: Begun,
): Promise<IssuedTokens> {
  const endpoint = createTokenEndpoint({ http, authUrl: config.platformAuthUrl, timeoutMs: PERSON_WAITS_MS });
  const secret = await client.current();
  const answer = await endpoint.exchange(code, secret.value, verifier);
  if (answer.outcome === "client_rejected") await client.rejected(secret, { isPresumed: false });
  if (answer.outcome !== "issued") throw exchangeProblem(answer);
  await client.accepted(secret);
  return answer.tokens;
}

async function openFor(web: Web, { state, scopes: asked }: Begun, code: Secret, tokens: IssuedTokens) {
  const { accessToken, refreshToken, lifeSeconds, scopes = asked } = tokens;
  const account = await accountOf(web.platformCalls, accessToken).catch((error: unknown) => {
    throw accountProblem(mayQuote(error, [code, ...(refreshToken ? [refreshToken] : [])]));
  });
  const seal = (column: "sealed_access_token" | "sealed_refresh_token", token: Secret) =>
    web.vault.seal(credentialSealContext(column, account.id, "person"), token);
  const person = {
    ...{ ...account, scopes, lifeSeconds, share: shareOfLife(account.id) },
    access: seal("sealed_access_token", accessToken),
    refresh: refreshToken && seal("sealed_refresh_token", refreshToken),
  };
  // The code is used up, so the same callback cannot be retried.
  const session = await openSession(web, person, state).catch((error: unknown) => {
    throw isDatabaseAway(error) ? problem("session_not_kept", error) : error;
  });
  if (!session) throw problem("state_unknown");
  // Tokens live for hours; those of a sandbox perhaps for seconds.
  if (lifeSeconds < 120) web.nudge("refresh-tokens", lifeSeconds * person.share * 1_000);
  return { person, session };
}
