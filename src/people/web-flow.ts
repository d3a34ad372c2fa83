import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import type { Context } from "../context.ts";
import { judgePersons } from "../credentials/client-secret.ts";
import { shareOfLife } from "../credentials/verdict.ts";
import { mayQuote } from "../errors.ts";
import { accountOf } from "../platform/authorizations.ts";
import { tokenEndpointAt } from "../platform/oauth.ts";
import { Secret } from "../secret.ts";
import { credentialSealContext } from "../vault/vault.ts";
import { randomId, readCookie, type SecretCookie, writeCookie } from "./cookies.ts";
import { accountProblem, authorizeProblem, exchangeProblem, problem } from "./problems.ts";
import { openSession } from "./store.ts";

/** To read who a person is: without a scope the platform would grant everything. */
const SCOPE = "identity";
const ATTEMPT_SECONDS = 600;
/** Tells the browsers apart in which sign-ins were begun; a browser may have several under way, one in each tab. */
const BROWSER: SecretCookie = { name: "kit_sign_in", path: "/", maxAgeSeconds: 3_600 };
const CODE = /^[\x21-\x7e]{1,1024}$/;
const PERSON_WAITS_MS = 10_000;

/**
 * A sign-in under way. Anybody can begin one, so none is stored here: it is the `state` itself, sealed for the browser
 * in which it began (platform document, "Authentication" 2). `verifier` proves to the platform that the code is
 * exchanged by whoever asked for it (RFC 7636), and makes the sign-in unique.
 */
interface Begun {
  returnTo: string | null;
  verifier: string;
  endsAt: number;
}

/** Follows the platform document, "Endpoints: Authorization service". One that does not know the code challenge ignores it. */
export function beginSignIn(
  ctx: Context,
  request: Request,
  response: Response,
  returnTo: string | null,
): void {
  const browser = readCookie(ctx, BROWSER, request) ?? randomId();
  writeCookie(ctx, BROWSER, request, response, browser);
  const verifier = randomId().reveal();
  const begun: Begun = { returnTo, verifier, endsAt: Date.now() + ATTEMPT_SECONDS * 1_000 };
  const state = Buffer.from(ctx.vault.seal(stateOf(browser), JSON.stringify(begun))).toString("base64url");
  const query = new URLSearchParams({
    client_id: ctx.credentials.people!.id,
    response_type: "code",
    scope: SCOPE,
    state,
    code_challenge: sha256(verifier).toString("base64url"),
    code_challenge_method: "S256",
  });
  response.status(303).set("Location", `${ctx.config.platformAuthUrl}/oauth/authorize?${query}`).end();
}

/**
 * Completes a sign-in: state → code → tokens → account → session. Nothing is stored before the last step, so a failure
 * leaves nothing behind. Throws a `Problem`. Follows the platform document, "Authentication" 2.
 */
export async function completeSignIn(ctx: Context, request: Request) {
  const { state, error, code } = request.query;
  // A denial may come without the state (RFC 6749 asks for it). Whoever made it up has only this page to show.
  if (state === undefined && error === "access_denied") throw authorizeProblem("access_denied");
  const begun = begunWith(ctx, request);
  if (!begun) throw problem("not_completed", "The state was not made here for this browser.");
  if (begun.endsAt <= Date.now()) throw problem("not_completed", "More than ten minutes have passed.");
  if (typeof error === "string" && error !== "") throw authorizeProblem(error);
  if (typeof code !== "string" || !CODE.test(code)) throw problem("not_completed", "No code came.");
  return signIn(ctx, begun, new Secret(code));
}

/** Null for a state that was not sealed by us, for this browser, with a key that is left. */
function begunWith(ctx: Context, request: Request): Begun | null {
  const { state } = request.query;
  const browser = readCookie(ctx, BROWSER, request);
  if (typeof state !== "string" || !browser) return null;
  try {
    return JSON.parse(ctx.vault.open(stateOf(browser), Buffer.from(state, "base64url")).reveal()) as Begun;
  } catch {
    return null;
  }
}

async function signIn(ctx: Context, begun: Begun, code: Secret) {
  const { http } = ctx.platformCalls;
  const authUrl = ctx.config.platformAuthUrl;
  const endpoint = tokenEndpointAt({ http, authUrl, timeoutMs: PERSON_WAITS_MS });
  const answer = await endpoint.exchange(code, ctx.credentials.people!.secret, new Secret(begun.verifier));
  // Raises the alarm, if our client is refused.
  judgePersons(ctx.log, answer);
  if (answer.outcome !== "issued") throw exchangeProblem(answer);
  const { accessToken, refreshToken, lifeSeconds } = answer.tokens;
  const account = await accountOf(ctx.platformCalls, accessToken).catch((error: unknown) => {
    throw accountProblem(mayQuote(error, [code, ...(refreshToken ? [refreshToken] : [])]));
  });
  const seal = (column: "sealed_access_token" | "sealed_refresh_token", token: Secret) =>
    ctx.vault.seal(credentialSealContext(column, account.id, "person"), token);
  const person = {
    ...account,
    lifeSeconds,
    share: shareOfLife(),
    access: seal("sealed_access_token", accessToken),
    refresh: refreshToken && seal("sealed_refresh_token", refreshToken),
  };
  const session = await openSession(ctx, person, sha256(begun.verifier));
  if (!session) throw problem("not_completed", "The state was used before.");
  return { person, session, returnTo: begun.returnTo };
}

const stateOf = (browser: Secret) => ({ table: "cookies", column: "state", uuid: browser.reveal() });
const sha256 = (text: string) => createHash("sha256").update(text).digest();
