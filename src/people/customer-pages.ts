import { Router, type Request, type Response } from "express";
import { isDatabaseAway } from "../database/database.ts";
import { KitError } from "../errors.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import type { Page } from "../pages/pages.tsx";
import type { Pages } from "../pages/pages.tsx";
import type { SecretCookie } from "./secret-cookie.ts";
import { isFromOurPage } from "./same-site.ts";
import { readUuid } from "../uuid.ts";
import { within } from "../within.ts";
import type { CustomerPage, CustomerResource } from "./contract.ts";
import { framed, SIGNED_OUT } from "./page-frame.tsx";
import { customerProblem } from "./customer-problems.ts";
import type { CustomerSession, CustomerSessions } from "./customer-sessions.ts";

/** A customer waits in front of a browser; a page that takes longer than this is a fault of the vendor's service. */
const PAGE_TIME_MS = 5_000;

/** The pages of customers, to be mounted at `/customer`: a resource's page, and the way out. */
export function customerRoutes(needs: {
  customerPage: CustomerPage;
  sessions: CustomerSessions;
  cookieOf(uuid: string): SecretCookie;
  /** Clears surplus cookies, but never that of the resource that is shown. */
  makeRoom(request: Request, response: Response, openUuid: string): void;
  pages: Pages;
}): Router {
  const { customerPage, sessions, cookieOf, makeRoom, pages } = needs;
  const router = Router({ caseSensitive: true });

  async function sessionOf(request: Request): Promise<CustomerSession | null> {
    const uuid = uuidIn(request);
    const id = uuid && cookieOf(uuid).read(request);
    return uuid && id ? sessions.find(id, uuid) : null;
  }

  router
    .route("/signed-out")
    .get((request, response) => pages.show(request, response, SIGNED_OUT))
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/:uuid")
    .get(async (request, response) => {
      const session = await sessionOf(request);
      if (!session) throw customerProblem("not_signed_on");
      // For the log line, should the page fail.
      response.locals["uuid"] = session.resource.uuid;
      makeRoom(request, response, session.resource.uuid);
      const page = await inTime(customerPage, session.resource);
      pages.show(request, response, framed(page, session, pages.addressOf(request).base));
    })
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/:uuid/sign-out")
    .post(async (request, response) => {
      if (!isFromOurPage(request, pages.addressOf)) throw customerProblem("cross_site");
      const uuid = uuidIn(request);
      const session = uuid && cookieOf(uuid).read(request);
      if (session) await sessions.close(session);
      if (uuid) cookieOf(uuid).clear(request, response);
      response
        .status(303)
        .set("Location", `${pages.addressOf(request).base}/customer/signed-out`)
        .end();
    })
    .all(methodNotAllowed("POST"));

  return router;
}

function uuidIn({ params }: Request): string | null {
  return readUuid(params["uuid"]);
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
