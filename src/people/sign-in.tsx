import { type Request, type Response, Router } from "express";
import type { Context } from "../context.ts";
import { clientAddress, methodNotAllowed, nowAuthenticated } from "../http/requests.ts";
import { addressOf, goTo, isFromOurPage, localPath } from "../pages/address.ts";
import { Facts, notFromOurPage, Problem, show } from "../pages/pages.tsx";
import { isRenewal } from "../pages/renewal.ts";
import type { Account } from "../platform/authorizations.ts";
import { readCookie, type SecretCookie, writeCookie } from "./cookies.ts";
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
      const { person, session, returnTo } = await completeSignIn(ctx, request).catch((error: unknown) => {
        if (error instanceof Problem) ctx.entries.refused(request, `A sign-in was refused: ${error.id}.`);
        throw error;
      });
      nowAuthenticated(response);
      // Against session fixation the old one ends. If the database is unreachable, it expires by itself.
      await endSession(ctx, request, response).catch(() => undefined);
      writeCookie(ctx, SESSION, request, response, session);
      const about = { requestId: request.id, account: person.id, address: clientAddress(request) };
      ctx.log.info(about, "A person signed in");
      ctx.entries.signedIn(request, person);
      goTo(ctx, request, response, returnTo ?? "/oauth/me");
    })
    .all(methodNotAllowed("GET"));

  router
    .route("/me")
    .get(async (request, response) => {
      const person = await personOf(ctx, request, response);
      if (!person) throw problem("not_signed_in");
      const { name, email } = person;
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
      const person = await personOf(ctx, request, response);
      await endSession(ctx, request, response);
      if (person) ctx.entries.signedOut(request, person);
      writeCookie(ctx, SESSION, request, response, null);
      goTo(ctx, request, response, localPath(request.query["return_to"]) ?? "/oauth/me");
    })
    .all(methodNotAllowed("POST"));
  return router;
}

/** Who is signed in. */
export async function personOf(ctx: Context, request: Request, response: Response): Promise<Account | null> {
  const id = readCookie(ctx, SESSION, request);
  const person = id && (await findSession(ctx, id, !isRenewal(request)));
  if (person) nowAuthenticated(response);
  return person;
}

async function endSession(ctx: Context, request: Request, response: Response): Promise<void> {
  const id = readCookie(ctx, SESSION, request);
  if (id && (await closeSession(ctx, id))) nowAuthenticated(response);
}
