import { type ErrorRequestHandler, type Request, type RequestHandler, Router } from "express";
import type { OpenContext } from "../../context.ts";
import { isDatabaseUnreachable } from "../../database/retry.ts";
import { Refusal } from "../../errors.ts";
import { clientAddress } from "../../http/requests.ts";
import { addressOf, localPath } from "../../pages/address.ts";
import { NOT_AVAILABLE, Problem, show } from "../../pages/pages.tsx";
import { inSmallLetters } from "../../people/roles.ts";
import { personOf } from "../../people/sign-in.tsx";
import type { Account } from "../../platform/authorizations.ts";
import { BY_PASSWORD } from "../audit.ts";
import { letIn, MOUNT, SignOut } from "./frame.tsx";

/** Not below `/operator`, or the browser would send the password only to that path. */
const WITH_PASSWORD = "/operator?with=password";

/**
 * Lets only operators pass: with the password, or signed in with a listed account. The list is checked at each request.
 * A request with a password is judged by the password alone, so it needs neither the platform nor the database. Without
 * credentials a browser gets the ways to sign in where accounts are listed, and any other client, or else it too, the
 * challenge of HTTP Basic where there is a password.
 */
export function guard(ctx: OpenContext, password: RequestHandler | null): RequestHandler {
  const { operatorAccounts: accounts } = ctx.config;
  const nameByPassword: RequestHandler = (request, response, next) => {
    letIn(ctx, response, { ...BY_PASSWORD, address: clientAddress(request) });
    ctx.entries.cameByPassword(request);
    next();
  };
  // A request without a password has no wrong one.
  const noteRefusal: ErrorRequestHandler = (error, request, _response, next) => {
    if (request.headers.authorization) ctx.entries.refused(request, "The operator's password was wrong.");
    next(error);
  };
  const byPassword = password && Router().use(password, nameByPassword, noteRefusal);
  if (byPassword && accounts.length === 0) return byPassword;

  return async (request, response, next) => {
    const isPasswordWanted = request.headers.authorization || request.query["with"] === "password";
    if (byPassword && isPasswordWanted) return byPassword(request, response, next);
    const person = await personOf(ctx, request, response).catch((cause: unknown) => {
      // Sessions need the database, the password does not.
      if (!byPassword || !isDatabaseUnreachable(cause)) throw cause;
      const next = { label: "Use the operator's password", path: WITH_PASSWORD };
      throw new Problem("not_available", { ...NOT_AVAILABLE, next }, { cause });
    });
    if (person && isListed(accounts, person)) {
      letIn(ctx, response, { name: person.email, account: person.id, address: clientAddress(request) });
      return next();
    }
    if (person) {
      const about = { requestId: request.id, account: person.id, address: clientAddress(request) };
      ctx.log.warn(about, "An account that is not an operator was refused");
      ctx.entries.refused(request, "The account is not in OPERATOR_ACCOUNTS.", person);
    } else if (byPassword && !isBrowser(request)) return byPassword(request, response, next);
    // The body of a refused request is not read, so the connection cannot be used again.
    if (!isReading(request)) response.setHeader("Connection", "close");
    if (!isBrowser(request))
      throw person
        ? new Refusal("The operator's pages are for other accounts.", { id: "forbidden", status: 403 })
        : new Refusal("Sign in with a browser.", { id: "unauthorized", status: 401 });
    const { base } = addressOf(ctx, request);
    const content = (
      <>
        {person ? <NotListed person={person} base={base} /> : <SignIn request={request} base={base} />}
        {byPassword && (
          <p>
            <a href={base + WITH_PASSWORD}>Use the operator's password</a>
          </p>
        )}
      </>
    );
    const title = person ? "Not for this account" : "The operator's pages";
    show(ctx, request, response, { title, status: person ? 403 : 401, content });
  };
}

/**
 * Whether `OPERATOR_ACCOUNTS` lists an account, by its id, or by its e-mail if the platform has verified that. An entry
 * without "@" is compared with ids alone, because what the platform calls an e-mail need not look like one.
 */
function isListed(accounts: readonly string[], { id, email, isEmailVerified }: Account): boolean {
  return accounts.some((account) => {
    const isEmail = account.includes("@");
    return inSmallLetters(account) === inSmallLetters(isEmail ? email : id) && (isEmailVerified || !isEmail);
  });
}

/** It accepts HTML, or sends a header that only browsers send. */
function isBrowser(request: Request): boolean {
  return request.headers["sec-fetch-site"] !== undefined || request.accepts(["json", "html"]) === "html";
}

const isReading = ({ method }: Request) => method === "GET" || method === "HEAD";

/** The way in, and back to the address that was requested. */
function SignIn({ request, base }: { request: Request; base: string }) {
  const hasSent = !isReading(request);
  const back = (!hasSent && localPath(request.originalUrl)) || MOUNT;
  return (
    <>
      {hasSent && <p>Nothing was done, for you are not signed in any more.</p>}
      <p>They are for those who run this service. Sign in with your account at the platform.</p>
      <p>
        <a href={`${base}/oauth/login?return_to=${encodeURIComponent(back)}`} role="button">
          Sign in
        </a>
      </p>
    </>
  );
}

function NotListed({ person: { email, isEmailVerified, id }, base }: { person: Account; base: string }) {
  return (
    <>
      <p>
        You are signed in as{" "}
        <strong>
          <bdi>{email}</bdi>
        </strong>
        , and the operator's pages are for other accounts.
      </p>
      <p>
        Whoever runs this service can let you in: {isEmailVerified && "with this e-mail, or "}with the
        account's id <code>{id}</code>, in <code>OPERATOR_ACCOUNTS</code>.
      </p>
      <SignOut base={base} />
    </>
  );
}
