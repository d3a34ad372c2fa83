import { Router, type Request, type Response } from "express";
import type { Log } from "../logging/log.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { Pages } from "../pages/pages.tsx";
import type { Account } from "../platform/account.ts";
import type { Begin } from "./begin.ts";
import type { Attempts } from "./attempts.ts";
import type { SignedIn } from "./callback.ts";
import type { Confirm } from "./confirm.ts";
import type { SecretCookie } from "./secret-cookie.ts";
import { problem } from "./problems.ts";
import { isFromOurPage, localPath } from "./same-site.ts";
import type { Session, Sessions } from "./sessions.ts";
import { whoPage } from "./who-page.tsx";

/** The routes for people, to be mounted at `/oauth`: login, callback, who am I, logout. */
export function signInRoutes(needs: {
  begin: Begin;
  complete(request: Request): Promise<SignedIn>;
  confirm: Confirm;
  sessionOf(request: Request): Promise<Session | null>;
  signOut(request: Request, response: Response): Promise<void>;
  /** Writes down who signed in or out. */
  note(action: "sign-in" | "sign-out", request: Request, person: Account): Promise<void>;
  attempts: Attempts;
  sessions: Sessions;
  sessionCookie: SecretCookie;
  scopes: readonly string[];
  pages: Pages;
  log: Log;
}): Router {
  const {
    begin,
    complete,
    confirm,
    sessionOf,
    note,
    signOut,
    attempts,
    sessions,
    sessionCookie,
    scopes,
    pages,
    log,
  } = needs;

  const router = Router({ caseSensitive: true });
  // Express answers HEAD with the GET handler; where a GET stores or uses up something, HEAD is refused.

  router
    .route("/login")
    .head(methodNotAllowed("GET"))
    .get((request, response) =>
      begin(request, response, { scopes: [...scopes], returnTo: returnToOf(request) }),
    )
    .all(methodNotAllowed("GET"));

  router
    .route("/callback")
    .head(methodNotAllowed("GET"))
    .get(async (request, response) => {
      const { begun, person, session, returnTo } = await complete(request);
      const former = sessionCookie.read(request);
      attempts.end(request, response, begun);
      sessionCookie.set(request, response, session);
      // The session id is new each time and the old session ends, which prevents session fixation.
      const gone = former && (await sessions.close(former).catch(cannotEnd(request)));
      if (gone && gone.id !== person.id) await note("sign-out", request, gone);
      await note("sign-in", request, person);
      response
        .status(303)
        .set("Location", pages.addressOf(request).base + (returnTo ?? "/oauth/me"))
        .end();
    })
    .all(methodNotAllowed("GET"));

  router
    .route("/me")
    .get(async (request, response) => {
      const session = await sessionOf(request);
      if (!session) throw problem("not_signed_in");
      const confirmed = session.isRefused ? { as: "refused" as const } : await confirm(session.person);
      if (confirmed.as === "refused") throw problem("sign_in_again");
      const { base } = pages.addressOf(request);
      pages.show(request, response, whoPage(confirmed.person, { base, as: confirmed.as }));
    })
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/logout")
    .post(async (request, response) => {
      if (!isFromOurPage(request, pages.addressOf)) throw problem("cross_site");
      await signOut(request, response);
      response
        .status(303)
        .set("Location", `${pages.addressOf(request).base}/oauth/me`)
        .end();
    })
    .all(methodNotAllowed("POST"));

  function cannotEnd({ id: requestId }: Request) {
    return (error: unknown) => {
      log.warn({ requestId, error }, "A former session could not be ended; it expires by itself");
      return null;
    };
  }

  return router;
}

function returnToOf({ query }: Request): string | null {
  const given = query["return_to"];
  if (given === undefined) return null;
  const path = typeof given === "string" ? localPath(given) : null;
  if (path === null) throw problem("return_to_refused");
  return path;
}
