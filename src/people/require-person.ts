import type { Request, RequestHandler } from "express";
import type { Begin } from "./begin.ts";
import { problem } from "./problems.ts";
import { localPath } from "./same-site.ts";
import { isEnough } from "./scopes.ts";
import type { Person, Session } from "./sessions.ts";

export interface Requirement {
  /** Who may enter; by default everybody who is signed in. */
  isAllowed?(person: Person): boolean;
  /** The scopes that the person must have granted; a browser without them is sent to the platform to grant them. */
  scopes?: readonly string[];
}

/**
 * Lets signed-in people pass, as `response.locals.person`. Sends the GETs of others through the sign-in and back;
 * throws a problem for their other requests, and for people who are not allowed.
 */
export function createRequirePerson({
  sessionOf,
  begin,
  scopes: standard,
}: {
  sessionOf(request: Request): Promise<Session | null>;
  begin: Begin;
  scopes: readonly string[];
}) {
  return ({ isAllowed = () => true, scopes = standard }: Requirement = {}): RequestHandler =>
    async (request, response, next) => {
      const session = await sessionOf(request);
      const mayEnter = session && !session.isRefused && isEnough(session.person.scopes, scopes);
      if (mayEnter && !isAllowed(session.person)) throw problem("not_allowed");
      if (mayEnter) {
        response.locals["person"] = session.person;
        return next();
      }
      if (request.method !== "GET") throw problem(session ? "sign_in_again" : "not_signed_in");
      begin(request, response, { scopes: [...scopes], returnTo: localPath(request.originalUrl) });
    };
}
