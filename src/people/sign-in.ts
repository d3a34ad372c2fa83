import type { Request, RequestHandler, Response, Router } from "express";
import type { Database } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Pages } from "../pages/pages.tsx";
import { clientAddress } from "../http/proxies.ts";
import { accountOf, type Account } from "../platform/account.ts";
import type { Http } from "../platform/http.ts";
import type { Vault } from "../vault/vault.ts";
import { createAttempts } from "./attempts.ts";
import { createBegin } from "./begin.ts";
import { createCallback } from "./callback.ts";
import { createConfirm } from "./confirm.ts";
import { createSecretCookie } from "./secret-cookie.ts";
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
  /** Keeps who signed in or out. */
  trail: {
    person(action: "sign-in" | "sign-out", request: Request, account: Account): Promise<void>;
  };
  /** Called with the tokens' lifetime in seconds when a person has signed in. */
  onStored(lifeSeconds: number): void;
  log: Log;
}): SignIn {
  const { authUrl, pages, trail, log, scopes = DEFAULT_SCOPES } = needs;
  const { client, endpoint, tokensOf } = needs.peopleTokens;
  const attempts = createAttempts({ vault: needs.vault, addressOf: pages.addressOf });
  const sessions = createSessions(needs);
  const sessionCookie = createSecretCookie(pages.addressOf, {
    ...{ name: "kit_session", path: "/" },
    maxAgeSeconds: SESSION_SECONDS,
  });
  const sessionOf = async (request: Request, how?: { isUse: boolean }): Promise<Session | null> => {
    const id = sessionCookie.read(request);
    return id && sessions.find(id, how);
  };

  async function note(action: "sign-in" | "sign-out", request: Request, person: Account): Promise<void> {
    const about = { requestId: request.id, account: person.id, address: clientAddress(request) };
    log.info(about, action === "sign-in" ? "A person signed in" : "A person signed out");
    await trail.person(action, request, person);
  }

  async function signOut(request: Request, response: Response): Promise<void> {
    const id = sessionCookie.read(request);
    const person = id && (await sessions.close(id));
    sessionCookie.clear(request, response);
    if (person) await note("sign-out", request, person);
  }

  const begin = createBegin({ attempts, authUrl, clientId: client.id });
  const complete = createCallback({
    ...needs,
    ...{ attempts, sessions, client, endpoint, accountOf: (token) => accountOf(needs, token) },
  });
  const confirm = createConfirm({
    ...{ tokensOf, sessions, log },
    accountOf: (token) => accountOf(needs, token, CONFIRM_TIMEOUT_MS),
  });

  return {
    router: signInRoutes({
      ...{ begin, complete, confirm, sessionOf, note, signOut, attempts, sessions, sessionCookie },
      ...{ scopes, pages, log },
    }),
    async personOf(request, how) {
      const session = await sessionOf(request, how);
      return session && !session.isRefused ? session.person : null;
    },
    signOut,
    requirePerson: createRequirePerson({ sessionOf, begin, scopes }),
  };
}
