import { Router, type Request } from "express";
import type { Context } from "../context.ts";
import { clientAddress, methodNotAllowed } from "../http/requests.ts";
import { addressOf, goTo, isFromOurPage, localPath } from "../pages/address.ts";
import { show } from "../pages/pages.tsx";
import { notFromOurPage } from "../pages/problem.tsx";
import type { Account } from "../platform/account.ts";
import { readCookie, writeCookie, type SecretCookie } from "./cookies.ts";
import { problem } from "./problems.ts";
import { closeSession, findSession, SESSION_SECONDS } from "./store.ts";
import { beginSignIn, completeSignIn } from "./web-flow.ts";
import { accountNow, whoPage } from "./who.tsx";

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
