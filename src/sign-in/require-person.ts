import type { Request, RequestHandler } from "express";
import type { Begin } from "./begin.ts";
import { problem } from "./problems.ts";
import { localPath } from "./return-to.ts";
import { isEnough } from "./scopes.ts";
import type { Person, Session } from "./sessions.ts";

export interface Requirement {
  /** Who may come in; everybody who is signed in unless given. */
  isAllowed?(person: Person): boolean;
  /** What they must have allowed; asked for when they have not. */
  scopes?: readonly string[];
}

/** Lets signed-in people pass, as `response.locals.person`; sends others to sign in and then back, or says no. */
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
      await begin(request, response, { scopes: [...scopes], returnTo: localPath(request.originalUrl) });
    };
}
