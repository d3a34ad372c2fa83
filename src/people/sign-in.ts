import { Router, type Request, type RequestHandler, type Response } from "express";
import type { Context } from "../context.ts";
import { clientAddress } from "../http/proxies.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { Pages } from "../pages/pages.tsx";
import type { Account } from "../platform/account.ts";
import { endAttempt } from "./attempts.ts";
import { confirm } from "./confirm.ts";
import { clearCookie, readCookie, setCookie, type SecretCookie } from "./cookies.ts";
import { problem } from "./problems.ts";
import { isFromOurPage, localPath } from "./same-site.ts";
import { DEFAULT_SCOPES, isEnough } from "./scopes.ts";
import { closeSession, findSession, SESSION_SECONDS, type Person, type Session } from "./store.ts";
import { beginSignIn, completeSignIn, type Web } from "./web-flow.ts";
import { whoPage } from "./who-page.tsx";

export type { Person } from "./store.ts";

/** Sign-in of people by the platform's OAuth web flow. */
export interface SignIn {
  /** The routes, for `/oauth`: login, callback, who am I, logout. */
  router: Router;
  /**
   * The person signed in in the browser that sent this request; null if there is none, or if they must sign in again.
   * `isUse` false: nobody uses the session with this request, a page loads itself again.
   */
  personOf(request: Request, how?: { isUse: boolean }): Promise<Person | null>;
  /** Middleware for routes that only signed-in people may use; it puts the person in `response.locals.person`. */
  requirePerson(requirement?: Requirement): RequestHandler;
  /**
   * Ends the session of the browser that sent this request, if it has one. The caller must check first that the request
   * came from a page of ours.
   */
  signOut(request: Request, response: Response): Promise<void>;
}

export interface Requirement {
  /** Who may enter; by default everybody who is signed in. */
  isAllowed?(person: Person): boolean;
  /** The scopes that the person must have granted; a browser without them is sent to the platform to grant them. */
  scopes?: readonly string[];
}

/** Keeps who signed in or out. */
interface Trail {
  person(action: "sign-in" | "sign-out", request: Request, account: Account): Promise<void>;
}

interface Site extends Web {
  ctx: Context;
  cookie: SecretCookie;
  trail: Trail;
  /** The scopes requested at `/oauth/login`. */
  scopes: readonly string[];
}

/** Null: no OAuth client is set for people. */
export function createSignIn(
  ctx: Context,
  { pages, trail, scopes = DEFAULT_SCOPES }: { pages: Pages; trail: Trail; scopes?: readonly string[] },
): SignIn | null {
  const client = ctx.credentials.people;
  if (!client) return null;
  const { addressOf } = pages;
  const cookie = { addressOf, name: "kit_session", path: "/", maxAgeSeconds: SESSION_SECONDS };
  const site: Site = { ...ctx, ctx, pages, client, cookie, trail, scopes };
  return {
    router: routes(site),
    async personOf(request, how) {
      const session = await sessionOf(site, request, how);
      return session && !session.isRefused ? session.person : null;
    },
    signOut: (request, response) => signOut(site, request, response),
    requirePerson: (requirement) => requirePerson(site, requirement),
  };
}

function routes(site: Site): Router {
  const router = Router({ caseSensitive: true });
  const homeOf = (request: Request) => site.pages.addressOf(request).base;
  // Express answers HEAD with the GET handler; where a GET stores or uses up something, HEAD is refused.
  router
    .route("/login")
    .head(methodNotAllowed("GET"))
    .get((request, response) =>
      beginSignIn(site, request, response, { scopes: site.scopes, returnTo: returnToOf(request) }),
    )
    .all(methodNotAllowed("GET"));

  router
    .route("/callback")
    .head(methodNotAllowed("GET"))
    .get(async (request, response) => {
      const returnTo = await signIn(site, request, response);
      response
        .status(303)
        .set("Location", homeOf(request) + returnTo)
        .end();
    })
    .all(methodNotAllowed("GET"));

  router
    .route("/me")
    .get(async (request, response) => {
      const session = await sessionOf(site, request);
      if (!session) throw problem("not_signed_in");
      const confirmed = session.isRefused
        ? { as: "refused" as const }
        : await confirm(site.ctx, session.person);
      if (confirmed.as === "refused") throw problem("sign_in_again");
      const page = whoPage(confirmed.person, { base: homeOf(request), as: confirmed.as });
      site.pages.show(request, response, page);
    })
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/logout")
    .post(async (request, response) => {
      if (!isFromOurPage(request, site.pages.addressOf)) throw problem("cross_site");
      await signOut(site, request, response);
      response
        .status(303)
        .set("Location", `${homeOf(request)}/oauth/me`)
        .end();
    })
    .all(methodNotAllowed("POST"));
  return router;
}

/** Completes a sign-in; returns where to go. */
async function signIn(site: Site, request: Request, response: Response): Promise<string> {
  const { begun, person, session, returnTo } = await completeSignIn(site, request);
  const former = readCookie(site.cookie, request);
  endAttempt(site, request, response, begun);
  setCookie(site.cookie, request, response, session);
  // The session id is new each time and the old session ends, which prevents session fixation.
  const cannotEnd = (error: unknown) => {
    site.log.warn(
      { requestId: request.id, error },
      "A former session could not be ended; it expires by itself",
    );
    return null;
  };
  const gone = former && (await closeSession(site, former).catch(cannotEnd));
  if (gone && gone.id !== person.id) await note(site, "sign-out", request, gone);
  await note(site, "sign-in", request, person);
  return returnTo ?? "/oauth/me";
}

async function signOut(site: Site, request: Request, response: Response): Promise<void> {
  const id = readCookie(site.cookie, request);
  const person = id && (await closeSession(site, id));
  clearCookie(site.cookie, request, response);
  if (person) await note(site, "sign-out", request, person);
}

async function note(
  { log, trail }: Site,
  action: "sign-in" | "sign-out",
  request: Request,
  person: Account,
): Promise<void> {
  const about = { requestId: request.id, account: person.id, address: clientAddress(request) };
  log.info(about, action === "sign-in" ? "A person signed in" : "A person signed out");
  await trail.person(action, request, person);
}

async function sessionOf(site: Site, request: Request, how?: { isUse: boolean }): Promise<Session | null> {
  const id = readCookie(site.cookie, request);
  return id && findSession(site, id, how);
}

/**
 * Lets signed-in people pass. Sends the GETs of others through the sign-in and back; throws a problem for their other
 * requests, and for people who are not allowed.
 */
function requirePerson(
  site: Site,
  { isAllowed = () => true, scopes = site.scopes }: Requirement = {},
): RequestHandler {
  return async (request, response, next) => {
    const session = await sessionOf(site, request);
    const mayEnter = session && !session.isRefused && isEnough(session.person.scopes, scopes);
    if (mayEnter && !isAllowed(session.person)) throw problem("not_allowed");
    if (mayEnter) {
      response.locals["person"] = session.person;
      return next();
    }
    if (request.method !== "GET") throw problem(session ? "sign_in_again" : "not_signed_in");
    beginSignIn(site, request, response, { scopes, returnTo: localPath(request.originalUrl) });
  };
}

function returnToOf({ query }: Request): string | null {
  const given = query["return_to"];
  if (given === undefined) return null;
  const path = typeof given === "string" ? localPath(given) : null;
  if (path === null) throw problem("return_to_refused");
  return path;
}
