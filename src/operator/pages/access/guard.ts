import { Router, type NextFunction, type Request, type RequestHandler, type Response } from "express";
import { isDatabaseAway } from "../../../database/database.ts";
import { Refusal } from "../../../errors.ts";
import { clientAddress } from "../../../http/client-address.ts";
import type { Log } from "../../../logging/log.ts";
import type { RefusedSample } from "../../../logging/request-log.ts";
import type { AccessTrail } from "../../access-trail.ts";
import { BY_PASSWORD } from "../../audit.ts";
import { isListed } from "../../is-listed.ts";
import type { Page, Pages } from "../../../pages/pages.tsx";
import { localPath } from "../../../people/same-site.ts";
import type { Person, SignIn } from "../../../people/sign-in.ts";
import { MOUNT } from "../frame.tsx";
import { operatorProblem, WITH_PASSWORD } from "../problems.ts";
import { notListedPage, signInPage } from "./access-pages.tsx";
import { LOOKS_AGAIN } from "../assets/live-script.ts";
import { letIn } from "./operator.ts";

/**
 * Lets only operators pass: with the password, or signed in with a listed account. The list is checked at each request.
 * A request with a password is judged by the password alone, so it needs neither the platform nor the database. Where
 * accounts are listed, a browser without credentials gets a page that offers the ways to sign in. Where there is a
 * password, any other client gets the challenge of HTTP Basic, and so does a browser if there is no other way to sign
 * in.
 */
export function createGuard({
  password,
  accounts,
  signIn,
  pages,
  trail,
  refusedSample,
  log,
}: {
  /** Checks the password and lets the request pass; null if no password is set. */
  password: RequestHandler | null;
  accounts: readonly string[];
  signIn: SignIn | null;
  pages: Pages;
  trail: AccessTrail;
  refusedSample: RefusedSample;
  log: Log;
}): RequestHandler {
  const byPassword = password && Router().use(noteWrong, password, nameByPassword);
  if (!signIn || accounts.length === 0) return byPassword ?? refuseAll;

  return async (request, response, next) => {
    if (byPassword && isPasswordWanted(request)) return byPassword(request, response, next);
    // The script of an open page is nobody's use of it.
    const isUse = request.get(LOOKS_AGAIN) === undefined;
    const person = await signIn.personOf(request, { isUse }).catch(byPassword ? offerPassword : rethrow);
    if (person && isListed(accounts, person)) {
      letIn(response, { name: person.email, account: person.id, address: clientAddress(request) });
      return next();
    }
    if (person) noteRefused(person, request);
    else if (byPassword && !isBrowser(request)) return byPassword(request, response, next);
    // The body of a refused request is not read, so the connection cannot be used again.
    if (!isReading(request)) response.setHeader("Connection", "close");
    if (!isBrowser(request)) throw person ? forbidden() : unauthorized();
    pages.show(request, response, refusalOf(person, request));
  };

  function noteWrong(request: Request, response: Response, next: NextFunction): void {
    const isWrong = () => [401, 429].includes(response.statusCode) && request.headers.authorization;
    response.once("finish", () => isWrong() && trail.refusedPassword(request));
    next();
  }

  function nameByPassword(request: Request, response: Response, next: NextFunction): void {
    trail.password(request);
    letIn(response, { ...BY_PASSWORD, address: clientAddress(request) });
    next();
  }

  function noteRefused(person: Person, request: Request): void {
    trail.refusedAccount(request, person);
    const about = { requestId: request.id, account: person.id, address: clientAddress(request) };
    if (refusedSample.isWritten(request)) log.info(about, "An account that is not an operator was refused");
  }

  function refusalOf(person: Person | null, request: Request): Page {
    const { base } = pages.addressOf(request);
    const withPassword = byPassword ? base + WITH_PASSWORD : null;
    if (person) return notListedPage(person, { signOut: `${base}${MOUNT}/sign-out`, password: withPassword });
    const hasSent = !isReading(request);
    const back = (!hasSent && localPath(request.originalUrl)) || MOUNT;
    const signInAt = `${base}/oauth/login?return_to=${encodeURIComponent(back)}`;
    return signInPage({ signIn: signInAt, password: withPassword, hasSent });
  }
}

function isPasswordWanted({ headers, query }: Request): boolean {
  return headers.authorization !== undefined || query["with"] === "password";
}

/**
 * Whether the client is a browser: it accepts HTML, or sends a header that only browsers send. A browser gets the
 * challenge of HTTP Basic only when it asks for it.
 */
function isBrowser(request: Request): boolean {
  return request.headers["sec-fetch-site"] !== undefined || request.accepts(["json", "html"]) === "html";
}

/** Sessions need the database, the password does not: if the database is away, offer the password. */
function offerPassword(cause: unknown): never {
  throw isDatabaseAway(cause) ? operatorProblem("sessions_away", { cause }) : cause;
}

function rethrow(cause: unknown): never {
  throw cause;
}

function isReading({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

const refuseAll: RequestHandler = () => {
  throw unauthorized();
};

function unauthorized(): Refusal {
  return new Refusal("Sign in with a browser.", { id: "unauthorized", status: 401 });
}

function forbidden(): Refusal {
  return new Refusal("The operator's pages are for other accounts.", { id: "forbidden", status: 403 });
}
