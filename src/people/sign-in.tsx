import { Router, type Request } from "express";
import type { Context } from "../context.ts";
import { clientAddress, methodNotAllowed } from "../http/requests.ts";
import { addressOf, goTo, isFromOurPage, localPath } from "../pages/address.ts";
import { show, Facts, type Page } from "../pages/pages.tsx";
import { notFromOurPage } from "../pages/problem.tsx";
import { type Account, accountOf } from "../platform/account.ts";
import { readCookie, writeCookie, type SecretCookie } from "./cookies.ts";
import { problem } from "./problems.ts";
import { closeSession, findSession, SESSION_SECONDS } from "./store.ts";
import { beginSignIn, completeSignIn } from "./web-flow.ts";
import { tokensOf } from "../credentials/token-source.ts";
import { KitError } from "../errors.ts";
import { PlatformRefused } from "../platform/errors.ts";
import { orNullAfter } from "../within.ts";

// Sign-in of people by the platform's OAuth web flow.

const SESSION: SecretCookie = { name: "kit_session", path: "/", maxAgeSeconds: SESSION_SECONDS };

/** The routes for `/oauth`: login, callback, who am I, logout. */
export function signInRoutes(ctx: Context): Router {
  const router = Router({ caseSensitive: true });
  // Express answers HEAD with the GET handler; where a GET stores or uses up something, HEAD is refused.
  router
    .route("/login")
    .head(methodNotAllowed("GET"))
    .get((request, response) => beginSignIn(ctx, request, response, localPath(request.query["return_to"])))
    .all(methodNotAllowed("GET"));

  router
    .route("/callback")
    .head(methodNotAllowed("GET"))
    .get(async (request, response) => {
      const { person, session, returnTo } = await completeSignIn(ctx, request);
      // The session id is new each time and the old session ends, which prevents session fixation. One that cannot be
      // ended, for the database is away, expires by itself.
      await endSession(ctx, request).catch(() => null);
      writeCookie(ctx, SESSION, request, response, session);
      note("A person signed in", request, person.id);
      goTo(ctx, request, response, returnTo ?? "/oauth/me");
    })
    .all(methodNotAllowed("GET"));

  router
    .route("/me")
    .get(async (request, response) => {
      const person = await personOf(ctx, request);
      const account = person && (await accountNow(ctx, person));
      if (!account) throw problem("not_signed_in");
      show(ctx, request, response, whoPage(account, addressOf(ctx, request).base));
    })
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/logout")
    .post(async (request, response) => {
      if (!isFromOurPage(ctx, request)) throw notFromOurPage();
      const account = await endSession(ctx, request);
      writeCookie(ctx, SESSION, request, response, null);
      if (account) note("A person signed out", request, account);
      goTo(ctx, request, response, localPath(request.query["return_to"]) ?? "/oauth/me");
    })
    .all(methodNotAllowed("POST"));
  return router;

  function note(what: string, request: Request, account: string): void {
    ctx.log.info({ requestId: request.id, account, address: clientAddress(request) }, what);
  }
}

/**
 * The person signed in in the browser that sent this request; null if there is none, or if they must sign in again.
 * `isUse` false: nobody uses the session with this request, a page loads itself again.
 */
export async function personOf(
  ctx: Context,
  request: Request,
  how?: { isUse: boolean },
): Promise<Account | null> {
  const id = readCookie(ctx, SESSION, request);
  return id && findSession(ctx, id, how);
}

/** Returns the id of the account whose session it was. */
async function endSession(ctx: Context, request: Request): Promise<string | null> {
  const id = readCookie(ctx, SESSION, request);
  return id && closeSession(ctx, "sessions", id);
}

/** A person waits for the page. */
const PATIENCE_MS = 5_000;

/**
 * Who a person is now, as the platform says with their token, or as it said when they signed in. Null: it no longer
 * accepts the person's tokens.
 */
export async function accountNow(ctx: Context, person: Account): Promise<Account | null> {
  try {
    const account = await orNullAfter(PATIENCE_MS, askAgain(ctx, person.id));
    return account?.id === person.id ? account : person;
  } catch (error) {
    if (!(error instanceof KitError)) throw error;
    return error.id === "needs_sign_in" ? null : person;
  }
}

async function askAgain(ctx: Context, id: string): Promise<Account> {
  const tokens = tokensOf(ctx, id);
  const token = await tokens.current();
  return accountOf(ctx.platformCalls, token).catch(async (error: unknown) => {
    if (!(error instanceof PlatformRefused && error.status === 401)) throw error;
    return accountOf(ctx.platformCalls, await tokens.renew(token));
  });
}

/** Who is signed in, and the button for signing out. */
export function whoPage({ name, email }: Account, base: string): Page {
  return {
    title: "You are signed in",
    content: (
      <>
        <Facts of={[name === null ? null : ["Name", name], ["E-mail", email]]} />
        <form method="post" action={`${base}/oauth/logout`}>
          <button type="submit">Sign out</button>
        </form>
      </>
    ),
  };
}
