import type { Request, RequestHandler, Response, Router } from "express";
import type { Database } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Pages } from "../pages/pages.tsx";
import { createAccountOf } from "../platform/account.ts";
import type { Http } from "../platform/http.ts";
import type { Vault } from "../vault/vault.ts";
import { createAttempts } from "./attempts.ts";
import { createBegin } from "./begin.ts";
import { createCallback } from "./callback.ts";
import { createConfirm } from "./confirm.ts";
import { createIdCookie } from "../web-sessions/id-cookie.ts";
import type { PeopleTokens } from "./people-tokens.ts";
import { createRequirePerson, type Requirement } from "./require-person.ts";
import { signInRoutes } from "./routes.ts";
import { DEFAULT_SCOPES } from "./scopes.ts";
import { createSessions, SESSION_SECONDS, type Person, type Session } from "./sessions.ts";

export type { Requirement } from "./require-person.ts";
export type { Person } from "./sessions.ts";

/** Sign-in of people by the platform's OAuth web flow. */
export interface SignIn {
  /** The routes, for `/oauth`. */
  router: Router;
  /**
   * The person signed in in the browser that sent this request; null if there is none, or if they must sign in again.
   */
  personOf(request: Request): Promise<Person | null>;
  /** Middleware for routes that only signed-in people may use; it puts the person in `response.locals.person`. */
  requirePerson(requirement?: Requirement): RequestHandler;
  /**
   * Ends the session of the browser that sent this request, if it has one. The caller must check first that the request
   * came from a page of ours.
   */
  signOut(request: Request, response: Response): Promise<void>;
}

/**
 * Longer than an expired sign-in is kept (prune.ts): a person who comes back late is told so, and not warned of a
 * strange link.
 */
const BROWSER_SECONDS = 3600;
/** Shorter than for other calls, because a person is waiting for the page. */
const CONFIRM_TIMEOUT_MS = 3_000;

export function createSignIn(needs: {
  peopleTokens: Pick<PeopleTokens, "client" | "endpoint" | "tokensOf">;
  /** The scopes requested at `/oauth/login`. */
  scopes?: readonly string[];
  db: Database;
  vault: Vault;
  http: Http;
  authUrl: string;
  apiUrl: string;
  mediaType: string;
  pages: Pages;
  /** Called with the tokens' lifetime in seconds when a person has signed in. */
  onStored(lifeSeconds: number): void;
  log: Log;
}): SignIn {
  const { authUrl, pages, scopes = DEFAULT_SCOPES } = needs;
  const { client, endpoint, tokensOf } = needs.peopleTokens;
  const attempts = createAttempts(needs);
  const sessions = createSessions(needs);

  const cookies = {
    browser: { name: "kit_sign_in", path: "/oauth" },
    session: { name: "kit_session", path: "/" },
  };
  const browserCookie = createIdCookie(pages.addressOf, {
    ...cookies.browser,
    maxAgeSeconds: BROWSER_SECONDS,
  });
  const sessionCookie = createIdCookie(pages.addressOf, {
    ...cookies.session,
    maxAgeSeconds: SESSION_SECONDS,
  });
  const sessionOf = async (request: Request): Promise<Session | null> => {
    const id = sessionCookie.read(request);
    return id && sessions.find(id);
  };

  async function signOut(request: Request, response: Response): Promise<void> {
    const id = sessionCookie.read(request);
    if (id) await sessions.close(id);
    sessionCookie.clear(request, response);
  }

  const begin = createBegin({ attempts, browserCookie, authUrl, clientId: client.id });
  const complete = createCallback({
    ...needs,
    ...{ attempts, sessions, client, endpoint, accountOf: createAccountOf(needs) },
  });
  const confirm = createConfirm({
    ...{ tokensOf, sessions },
    accountOf: createAccountOf({ ...needs, timeoutMs: CONFIRM_TIMEOUT_MS }),
  });

  return {
    router: signInRoutes({
      ...{ begin, complete, confirm, sessionOf, signOut, sessions, browserCookie, sessionCookie },
      ...{ scopes, pages, log: needs.log },
    }),
    async personOf(request) {
      const session = await sessionOf(request);
      return session && !session.isRefused ? session.person : null;
    },
    signOut,
    requirePerson: createRequirePerson({ sessionOf, begin, scopes }),
  };
}
