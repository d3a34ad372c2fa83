import { Router, type Request } from "express";
import type { Context } from "../context.ts";
import { tokensOf } from "../credentials/token-source.ts";
import { KitError } from "../errors.ts";
import { clientAddress, methodNotAllowed } from "../http/requests.ts";
import { addressOf, goTo, isFromOurPage, localPath } from "../pages/address.ts";
import { show, Facts, notFromOurPage } from "../pages/pages.tsx";
import { type Account, accountOf } from "../platform/authorizations.ts";
import { PlatformRefused } from "../platform/errors.ts";
import { orNullAfter } from "../within.ts";
import { readCookie, writeCookie, type SecretCookie } from "./cookies.ts";
import { problem } from "./problems.ts";
import { closeSession, findSession, SESSION_SECONDS } from "./store.ts";
import { beginSignIn, completeSignIn } from "./web-flow.ts";

const SESSION: SecretCookie = { name: "kit_session", path: "/", maxAgeSeconds: SESSION_SECONDS };

/** `/oauth`: sign-in of people by the platform's OAuth web flow. */
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
      // Against session fixation the old one ends. If it cannot, for the database is away, it expires by itself.
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
      const { name, email } = account;
      const content = (
        <>
          <Facts of={[name === null ? null : ["Name", name], ["E-mail", email]]} />
          <form method="post" action={`${addressOf(ctx, request).base}/oauth/logout`}>
            <button type="submit">Sign out</button>
          </form>
        </>
      );
      show(ctx, request, response, { title: "You are signed in", content });
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

/** Who is signed in. `isUse` false: nobody uses the session with this request, a page loads itself again. */
export async function personOf(ctx: Context, request: Request, isUse = true): Promise<Account | null> {
  const id = readCookie(ctx, SESSION, request);
  return id && findSession(ctx, id, isUse);
}

/** Returns the id of the account whose session it was. */
async function endSession(ctx: Context, request: Request): Promise<string | null> {
  const id = readCookie(ctx, SESSION, request);
  return id && closeSession(ctx, "sessions", id);
}

const PATIENCE_MS = 5_000;

/** As the platform says now, or as it said at the sign-in. Null: it no longer accepts the person's tokens. */
async function accountNow(ctx: Context, person: Account): Promise<Account | null> {
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
