import express, { Router, type Request, type RequestHandler } from "express";
import type { Context } from "../context.ts";
import { isDatabaseAway } from "../database/database.ts";
import { KitError } from "../errors.ts";
import { askForBody, isUnreadableBody } from "../http/bodies.ts";
import { clientAddress } from "../http/proxies.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { Page, Pages } from "../pages/pages.tsx";
import type { Secret } from "../secret.ts";
import { readUuid } from "../uuid.ts";
import { within } from "../within.ts";
import type { CustomerPage, CustomerResource } from "./contract.ts";
import { clearCookie, makeRoom, readCookie, setCookie, type SecretCookie } from "./cookies.ts";
import { customerProblem } from "./problems.ts";
import { isFromOurPage } from "./same-site.ts";
import { readSignedForm } from "./signed-form.ts";
import {
  closeCustomerSession,
  CUSTOMER_SESSION_SECONDS,
  findCustomerSession,
  openCustomerSession,
  type CustomerSession,
} from "./store.ts";

/** A form of at most eight members; the longest is an e-mail address. */
const MOST_BODY_BYTES = 16 * 1024;
/** A customer waits in front of a browser; a page that takes longer than this is a fault of the vendor's service. */
const PAGE_TIME_MS = 5_000;
/** A cookie takes about 100 bytes. */
const MOST_COOKIES = 30;
const FAMILY = /kit_customer_([0-9a-f-]{36})$/;

type Needs = Context & { pages: Pages; salt: Secret };

/** The sign-on for customers who come from the platform's dashboard, and the page it leads to. */
export function customerRouters(needs: Needs): Record<"/sso" | "/customer", Router> {
  return { "/sso": signOnRoutes(needs), "/customer": customerRoutes(needs) };
}

/** A form that the platform's dashboard signed (assumed, section 6). */
function signOnRoutes(needs: Needs): Router {
  const { pages, salt, config, clocks, log } = needs;
  const router = Router({ caseSensitive: true });
  const parseForm = express.urlencoded({ extended: false, limit: MOST_BODY_BYTES, parameterLimit: 50 });
  const readForm: RequestHandler = (request, response, next) => {
    askForBody(request, response);
    // A body that cannot be read counts as a refused sign-on.
    parseForm(request, response, (error?: unknown) =>
      next(error && isUnreadableBody(error) ? customerProblem("sign_on_refused", "unreadable") : error),
    );
  };

  router
    .route("/login")
    .post(readForm, async (request, response) => {
      const form = readSignedForm(request.body, salt, { mustNameUser: config.ssoRequireUser });
      if (typeof form === "string") throw customerProblem("sign_on_refused", form);
      const opened = await openCustomerSession(needs, form, clientAddress(request)).catch(notKept);
      const trouble = opened === "stale" ? clocks.trouble() : null;
      if (trouble) throw customerProblem("sign_on_refused", { id: "clocks_apart", message: trouble });
      if (typeof opened === "string") throw customerProblem("sign_on_refused", opened);
      // The session id is new each time, which prevents session fixation.
      setCookie(cookieOf(pages, form.uuid), request, response, opened.session);
      const about = { uuid: form.uuid, requestId: request.id, address: clientAddress(request) };
      log.info({ ...about, namesUser: form.user !== null }, "A customer signed on");
      const { base } = pages.addressOf(request);
      response.status(303).set("Location", `${base}/customer/${form.uuid}`).end();
    })
    .all(methodNotAllowed("POST"));
  return router;
}

/** A resource's page, and the way out. */
function customerRoutes(needs: Needs): Router {
  const { customerPage, pages } = needs;
  const router = Router({ caseSensitive: true });

  router
    .route("/signed-out")
    .get((request, response) => pages.show(request, response, SIGNED_OUT))
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/:uuid")
    .get(async (request, response) => {
      const session = await sessionOf(needs, request);
      if (!session) throw customerProblem("not_signed_on");
      const { uuid } = session.resource;
      // For the log line, should the page fail.
      response.locals["uuid"] = uuid;
      const room = { family: FAMILY, most: MOST_COOKIES, kept: uuid };
      makeRoom((each) => cookieOf(pages, each), room, request, response);
      const page = await inTime(customerPage, session.resource);
      pages.show(request, response, framed(page, session, pages.addressOf(request).base));
    })
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/:uuid/sign-out")
    .post(async (request, response) => {
      if (!isFromOurPage(request, pages.addressOf)) throw customerProblem("cross_site");
      const uuid = readUuid(request.params["uuid"]);
      const session = uuid && readCookie(cookieOf(pages, uuid), request);
      if (session) await closeCustomerSession(needs, session);
      if (uuid) clearCookie(cookieOf(pages, uuid), request, response);
      response
        .status(303)
        .set("Location", `${pages.addressOf(request).base}/customer/signed-out`)
        .end();
    })
    .all(methodNotAllowed("POST"));
  return router;
}

/** One cookie per resource: a customer with two resources open in two tabs is signed on to both. */
function cookieOf({ addressOf }: Pages, uuid: string): SecretCookie {
  const maxAgeSeconds = CUSTOMER_SESSION_SECONDS;
  return { addressOf, name: `kit_customer_${uuid}`, path: `/customer/${uuid}`, maxAgeSeconds };
}

async function sessionOf(needs: Needs, request: Request): Promise<CustomerSession | null> {
  const uuid = readUuid(request.params["uuid"]);
  const id = uuid && readCookie(cookieOf(needs.pages, uuid), request);
  return uuid && id ? findCustomerSession(needs, id, uuid) : null;
}

/**
 * The form may be used up by now, so sending it again would be refused: the page for that says to start from the
 * dashboard.
 */
function notKept(error: unknown): never {
  throw isDatabaseAway(error) ? customerProblem("sign_on_not_kept", error) : error;
}

/**
 * The vendor's page. Throws the problem `page_late` after `PAGE_TIME_MS`, and a KitError when the vendor's function
 * returns nothing.
 */
async function inTime(customerPage: CustomerPage, resource: CustomerResource): Promise<Page> {
  try {
    const page = await within<Page | null | undefined>(PAGE_TIME_MS, customerPage(resource), () =>
      customerProblem("page_late"),
    );
    if (page) return page;
  } catch (error) {
    // An error of the vendor's page that looks like a lost database is not about the kit's own database.
    throw isDatabaseAway(error) ? new Error("The page cannot reach what it needs", { cause: error }) : error;
  }
  throw new KitError(
    "broken_contract",
    "The service's customerPage() returned nothing; it must return a title and content. Is a return missing?",
  );
}

/** The vendor's page, followed by the e-mail address of the customer and the button for signing out. */
function framed({ content, ...page }: Page, { email, resource }: CustomerSession, base: string): Page {
  return {
    ...page,
    content: (
      <>
        {content}
        <hr />
        {email !== null && (
          <p>
            You are signed on as <strong>{email}</strong>.
          </p>
        )}
        <form method="post" action={`${base}/customer/${resource.uuid}/sign-out`}>
          <button type="submit">Sign out</button>
        </form>
      </>
    ),
  };
}

const SIGNED_OUT: Page = {
  title: "You are signed out",
  content: <p>To come back, open the add-on from the platform's dashboard.</p>,
};
