import express, { Router, type ErrorRequestHandler, type RequestHandler } from "express";
import { askForBody, isUnreadableBody } from "../http/bodies.ts";
import { clientAddress } from "../http/proxies.ts";
import { isDatabaseAway } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { Pages } from "../pages/pages.tsx";
import type { Secret } from "../secret.ts";
import type { SecretCookie } from "./secret-cookie.ts";
import { customerProblem } from "./customer-problems.ts";
import type { CustomerSessions } from "./customer-sessions.ts";
import { readSignedForm } from "./signed-form.ts";

/** A form of at most eight members; the longest is an e-mail address. */
const MOST_BODY_BYTES = 16 * 1024;

/**
 * The sign-on for customers, to be mounted at `/sso`: a form that the platform's dashboard signed (assumed, section 6).
 */
export function signOnRoutes(needs: {
  salt: Secret;
  mustNameUser: boolean;
  sessions: CustomerSessions;
  cookieOf(uuid: string): SecretCookie;
  clocksTrouble(): string | null;
  pages: Pages;
  log: Log;
}): Router {
  const { salt, mustNameUser, sessions, cookieOf, clocksTrouble, pages, log } = needs;
  const router = Router({ caseSensitive: true });
  const parseForm = express.urlencoded({ extended: false, limit: MOST_BODY_BYTES, parameterLimit: 50 });
  const readForm: RequestHandler = (request, response, next) => {
    askForBody(request, response);
    parseForm(request, response, next);
  };

  router
    .route("/login")
    .post(readForm, async (request, response) => {
      const form = readSignedForm(request.body, salt, { mustNameUser });
      if (typeof form === "string") throw customerProblem("sign_on_refused", form);
      const opened = await sessions.open(form, clientAddress(request)).catch(notKept);
      const trouble = opened === "stale" ? clocksTrouble() : null;
      if (trouble) throw customerProblem("sign_on_refused", { id: "clocks_apart", message: trouble });
      if (typeof opened === "string") throw customerProblem("sign_on_refused", opened);
      // The session id is new each time, which prevents session fixation.
      cookieOf(form.uuid).set(request, response, opened.session);
      const about = { uuid: form.uuid, requestId: request.id, address: clientAddress(request) };
      log.info({ ...about, namesUser: form.user !== null }, "A customer signed on");
      const { base } = pages.addressOf(request);
      response.status(303).set("Location", `${base}/customer/${form.uuid}`).end();
    })
    .all(methodNotAllowed("POST"));
  router.use(refuseUnreadable);
  return router;
}

/**
 * The form may be used up by now, so sending it again would be refused: the page for that says to start from the
 * dashboard.
 */
function notKept(error: unknown): never {
  throw isDatabaseAway(error) ? customerProblem("sign_on_not_kept", error) : error;
}

/** A body that cannot be read counts as a refused sign-on. */
const refuseUnreadable: ErrorRequestHandler = (error: unknown, _request, _response, next) => {
  next(isUnreadableBody(error) ? customerProblem("sign_on_refused", "unreadable") : error);
};
