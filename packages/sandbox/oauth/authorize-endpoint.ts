import { type Request, type Response, Router } from "express";
import { ConsentPage } from "../pages/consent.tsx";
import { pageHeaders } from "../pages/headers.ts";
import { RefusalPage } from "../pages/refusal.tsx";
import { sendPage } from "../pages/send-page.ts";
import { SignInPage } from "../pages/sign-in.tsx";
import type { Platform } from "../platform.ts";
import { badRequest, forbidden, Refused } from "../refusal.ts";
import { mediaTypeOf } from "../wire/body.ts";
import { bodyOf } from "../wire/recorder.ts";
import { everyUser, findUser } from "../world/users.ts";
import { type AuthorizeRequest, judgeRequest } from "./authorize-request.ts";
import { decide } from "./decision.ts";
import { createSessions, type Session } from "./session.ts";

/**
 * `GET /oauth/authorize`: a person signs in, sees which client asks for which scopes, and allows or denies it
 * ("Authorization service"). Each form carries the whole request in its URL, so nothing is stored between the steps.
 */
export function authorizeEndpoint({ world }: Platform): Router {
  const router = Router();
  const sessionOf = createSessions(world);
  router.use("/oauth/authorize", pageHeaders);

  router.get("/oauth/authorize", (req, res) => {
    step(req, res, (asked, session) => {
      const search = searchOf(req);
      const { user, formToken } = session;
      if (user) sendPage(res, 200, ConsentPage({ asked, user, search, formToken }));
      else sendPage(res, 200, SignInPage({ asked, users: everyUser(world), search, formToken }));
    });
  });

  router.post("/oauth/authorize", (req, res) => {
    step(req, res, (asked, session) => {
      const decision = readForm(req, res, session).get("decision");
      if (!session.user) return again(req, res);
      if (decision !== "allow" && decision !== "deny") throw badRequest("decision must be allow or deny.");
      res.redirect(303, decide(world, asked, session.user, decision === "allow"));
    });
  });

  router.post("/oauth/authorize/sign-in", (req, res) => {
    step(req, res, (_asked, session) => {
      const user = readForm(req, res, session).get("user")?.trim();
      if (!user) throw badRequest("Choose somebody to sign in as, or give an e-mail.");
      session.signIn(findUser(world, user));
      again(req, res);
    });
  });

  router.post("/oauth/authorize/sign-out", (req, res) => {
    step(req, res, (_asked, session) => {
      readForm(req, res, session);
      session.signOut();
      again(req, res);
    });
  });

  /** Shows the person a page for every error that cannot be sent back to the client. */
  function step(req: Request, res: Response, act: (asked: AuthorizeRequest, session: Session) => void): void {
    let retryAt: string | undefined;
    try {
      const judged = judgeRequest(world, searchOf(req));
      if ("location" in judged) return res.redirect(303, judged.location);
      retryAt = `/oauth/authorize${searchOf(req)}`;
      act(judged.asked, sessionOf(req, res));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      sendPage(res, error.status, RefusalPage({ message: error.message, retryAt }));
    }
  }

  return router;
}

/** Reads a form of the sandbox. Throws unless the browser that it was shown to sent it. */
function readForm(req: Request, res: Response, session: Session): URLSearchParams {
  if (mediaTypeOf(req.headers["content-type"]) !== "application/x-www-form-urlencoded") {
    throw badRequest("The content type must be application/x-www-form-urlencoded.");
  }
  const form = new URLSearchParams(bodyOf(res));
  if (form.get("form_token") !== session.formToken) {
    throw forbidden(
      "The form is out of date, or this browser keeps no cookies. Go back and load the page again.",
    );
  }
  return form;
}

function again(req: Request, res: Response): void {
  res.redirect(303, `/oauth/authorize${searchOf(req)}`);
}

/** The raw query, so that its content is passed on unchanged. */
function searchOf(req: Request): string {
  const mark = req.originalUrl.indexOf("?");
  return mark < 0 ? "" : req.originalUrl.slice(mark);
}
