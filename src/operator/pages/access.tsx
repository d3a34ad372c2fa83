import { Router, type NextFunction, type Request, type RequestHandler, type Response } from "express";
import { isDatabaseAway } from "../../database/database.ts";
import { Refusal } from "../../errors.ts";
import { clientAddress } from "../../http/proxies.ts";
import type { OpenContext } from "../../open-context.ts";
import type { Page, Pages } from "../../pages/pages.tsx";
import { isFromOurPage, localPath } from "../../people/same-site.ts";
import type { Person, SignIn } from "../../people/sign-in.ts";
import { isListed, type AccessTrail } from "../access-trail.ts";
import { BY_PASSWORD } from "../audit.ts";
import { LOOKS_AGAIN } from "./assets.ts";
import { letIn, MOUNT } from "./frame.tsx";
import { operatorProblem, WITH_PASSWORD } from "./problems.ts";

/**
 * Lets only operators pass: with the password, or signed in with a listed account. The list is checked at each request.
 * A request with a password is judged by the password alone, so it needs neither the platform nor the database. Where
 * accounts are listed, a browser without credentials gets a page that offers the ways to sign in. Where there is a
 * password, any other client gets the challenge of HTTP Basic, and so does a browser if there is no other way to sign
 * in. `password` checks the password and lets the request pass; null if none is set.
 */
export function createGuard(
  { config, log, refusedSample }: OpenContext,
  {
    password,
    signIn,
    pages,
    trail,
  }: {
    password: RequestHandler | null;
    signIn: SignIn | null;
    pages: Pages;
    trail: AccessTrail;
  },
): RequestHandler {
  const accounts = config.operatorAccounts;
  const byPassword = password && Router().use(noteWrong, password, nameByPassword);
  if (!signIn || accounts.length === 0) return byPassword ?? refuseAll;

  return async (request, response, next) => {
    const isPasswordWanted = request.headers.authorization || request.query["with"] === "password";
    if (byPassword && isPasswordWanted) return byPassword(request, response, next);
    // The script of an open page is nobody's use of it.
    const isUse = request.get(LOOKS_AGAIN) === undefined;
    const person = await signIn.personOf(request, { isUse }).catch((cause: unknown) => {
      // Sessions need the database, the password does not.
      throw byPassword && isDatabaseAway(cause) ? operatorProblem("sessions_away", { cause }) : cause;
    });
    if (person && isListed(accounts, person)) {
      letIn(response, { name: person.email, account: person.id, address: clientAddress(request) });
      return next();
    }
    if (person) noteRefused(person, request);
    else if (byPassword && !isBrowser(request)) return byPassword(request, response, next);
    // The body of a refused request is not read, so the connection cannot be used again.
    if (!isReading(request)) response.setHeader("Connection", "close");
    if (!isBrowser(request)) throw person ? FORBIDDEN() : UNAUTHORIZED();
    const { base } = pages.addressOf(request);
    const withPassword = byPassword && base + WITH_PASSWORD;
    const page = person
      ? notListedPage(person, `${base}${MOUNT}/sign-out`, withPassword)
      : signInPage(request, base, withPassword);
    pages.show(request, response, page);
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
}

/**
 * Whether the client is a browser: it accepts HTML, or sends a header that only browsers send. A browser gets the
 * challenge of HTTP Basic only when it asks for it.
 */
function isBrowser(request: Request): boolean {
  return request.headers["sec-fetch-site"] !== undefined || request.accepts(["json", "html"]) === "html";
}

function isReading({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

const UNAUTHORIZED = () => new Refusal("Sign in with a browser.", { id: "unauthorized", status: 401 });
const FORBIDDEN = () =>
  new Refusal("The operator's pages are for other accounts.", { id: "forbidden", status: 403 });

const refuseAll: RequestHandler = () => {
  throw UNAUTHORIZED();
};

/** Signs out any person who is signed in, operator or not. They stay signed in at the platform. */
export function signOut({ signIn, pages }: { signIn: SignIn; pages: Pages }): RequestHandler {
  return async (request, response) => {
    if (!isFromOurPage(request, pages.addressOf)) throw operatorProblem("not_from_our_page");
    await signIn.signOut(request, response);
    const home = pages.addressOf(request).base + MOUNT;
    response.status(303).set("Location", home).end();
  };
}

/** For a person who is not signed in: the ways to sign in, shown at the address that was requested. */
function signInPage(request: Request, base: string, password: string | null): Page {
  const hasSent = !isReading(request);
  const back = (!hasSent && localPath(request.originalUrl)) || MOUNT;
  return {
    title: "The operator's pages",
    status: 401,
    content: (
      <>
        {hasSent && <p>Nothing was done, for you are not signed in any more.</p>}
        <p>They are for those who run this service. Sign in with your account at the platform.</p>
        <p>
          <a href={`${base}/oauth/login?return_to=${encodeURIComponent(back)}`} role="button">
            Sign in
          </a>
        </p>
        <UsePassword at={password} />
      </>
    ),
  };
}

/** For a person who is signed in but not listed as an operator: why, and how to change the account. */
function notListedPage(
  { email, isEmailVerified, id }: Person,
  signOutAt: string,
  password: string | null,
): Page {
  return {
    title: "Not for this account",
    status: 403,
    content: (
      <>
        <p>
          You are signed in as <strong>{email}</strong>, and the operator's pages are for other accounts.
        </p>
        <p>
          Whoever runs this service can let you in: {isEmailVerified && "with this e-mail, or "}with the
          account's id <code>{id}</code>, in <code>OPERATOR_ACCOUNTS</code>.
        </p>
        <form method="post" action={signOutAt}>
          <button type="submit">Sign out</button>
        </form>
        <UsePassword at={password} />
      </>
    ),
  };
}

function UsePassword({ at }: { at: string | null }) {
  if (at === null) return null;
  return (
    <p>
      <a href={at}>Use the operator's password</a>
    </p>
  );
}
