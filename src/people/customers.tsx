import express, { Router, type Request, type RequestHandler, type Response } from "express";
import type { Context } from "../context.ts";
import { askForBody, isUnreadableBody, clientAddress, methodNotAllowed } from "../http/requests.ts";
import { customerAction } from "../extend/store.ts";
import { addressOf, goTo, isFromOurPage } from "../pages/address.ts";
import { formIn, parseForm } from "../pages/forms.ts";
import { show, type Page } from "../pages/pages.tsx";
import { notFromOurPage } from "../pages/problem.tsx";
import type { Secret } from "../secret.ts";
import { readUuid } from "../values.ts";
import { within } from "../within.ts";
import { carryOut, Result, toolsOf, type Visit } from "./actions.tsx";
import type { CustomerTools } from "./contract.ts";
import { readCookie, writeCookie, type SecretCookie } from "./cookies.ts";
import { problem } from "./problems.ts";
import { createRoles, type Roles } from "./roles.ts";
import { readSignedForm } from "./sign-on.ts";
import { closeSession, CUSTOMER_SESSION_SECONDS, findCustomerSession, openCustomerSession } from "./store.ts";

/** A form of at most eight members; the longest is an e-mail address. */
const MOST_BODY_BYTES = 16 * 1024;
/** A customer waits in front of a browser; a page that takes longer than this is a fault of the vendor's service. */
const PAGE_TIME_MS = 5_000;

const parse = express.urlencoded({ extended: false, limit: MOST_BODY_BYTES, parameterLimit: 50 });

/** A body that cannot be read counts as a refused sign-on. */
const readForm: RequestHandler = (request, response, next) => {
  askForBody(request, response);
  parse(request, response, (error?: unknown) =>
    next(isUnreadableBody(error ?? {}) ? problem("sign_on_refused", "The sign-on cannot be read.") : error),
  );
};

/** `/sso`: the sign-on of customers with a form that the platform's dashboard signed (assumed, section 6). */
export function signOnRoutes(ctx: Context, salt: Secret): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/login")
    .post(readForm, async (request, response) => {
      const form = readSignedForm(request.body, salt, { mustNameUser: ctx.config.ssoRequireUser });
      const opened = await openCustomerSession(ctx, form);
      if (typeof opened === "string") throw problem("sign_on_refused", WHY_REFUSED[opened]);
      // The session id is new each time, which prevents session fixation.
      writeCookie(ctx, cookieOf(form.uuid), request, response, opened.session);
      const about = { uuid: form.uuid, requestId: request.id, user: form.user?.id ?? null };
      ctx.log.info({ ...about, address: clientAddress(request) }, "A customer signed on");
      goTo(ctx, request, response, `/customer/${form.uuid}`);
    })
    .all(methodNotAllowed("POST"));
  return router;
}

const WHY_REFUSED = {
  stale: "The sign-on was signed more than 5 minutes ago, or more than 1 minute in the future.",
  used: "The sign-on was used before.",
  gone: "The sign-on is for a resource that does not exist, or not any more.",
};

/** `/customer`: a resource's page, its actions, and the way out. */
export function customerRoutes(ctx: Context): Router {
  const router = Router({ caseSensitive: true });
  const standingOf = createRoles(ctx);
  const signedOn: RequestHandler = async (request, response, next) => {
    response.locals["visit"] = await visitOf(ctx, standingOf, request, response);
    next();
  };
  router
    .route("/signed-out")
    .get((request, response) => show(ctx, request, response, SIGNED_OUT))
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/:uuid")
    .get(signedOn, async (request, response) => {
      const visit = response.locals["visit"] as Visit;
      const { uuid } = visit.resource;
      const here = `${addressOf(ctx, request).base}/customer/${uuid}`;
      const tools = toolsOf(ctx, visit, here);
      const page = await pageOf(ctx, visit, tools);
      const [sent] = /^[\w-]{16}$/.exec(String(request.query["sent"])) ?? [];
      const ended = sent ? await customerAction(ctx.db, uuid, sent) : null;
      if (ended?.state === "running") response.set("Refresh", "2");
      const content = (
        <>
          {ended && <Result of={ended} />}
          {page.content}
          <tools.Withheld />
        </>
      );
      show(ctx, request, response, framed({ ...page, content }, visit.person.email, here));
    })
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/:uuid/actions/:name")
    .post(signedOn, parseForm, async (request, response) => {
      const visit = response.locals["visit"] as Visit;
      const isOurs = isFromOurPage(ctx, request);
      const asked = { name: String(request.params["name"]), sent: formIn(request.body), isOurs };
      const form = await carryOut(ctx, visit, { ...asked, requestId: String(request.id) });
      goTo(ctx, request, response, `/customer/${visit.resource.uuid}?sent=${form}`);
    })
    .all(methodNotAllowed("POST"));

  router
    .route("/:uuid/sign-out")
    .post(async (request, response) => {
      if (!isFromOurPage(ctx, request)) throw notFromOurPage();
      const uuid = readUuid(request.params["uuid"]);
      const id = uuid && readCookie(ctx, cookieOf(uuid), request);
      if (id) await closeSession(ctx, "customer_sessions", id);
      if (uuid) writeCookie(ctx, cookieOf(uuid), request, response, null);
      goTo(ctx, request, response, "/customer/signed-out");
    })
    .all(methodNotAllowed("POST"));
  return router;
}

/** Who is signed on to the resource of a request. The role is asked for only by a service that has actions. */
async function visitOf(
  ctx: Context,
  standingOf: Roles,
  request: Request,
  response: Response,
): Promise<Visit> {
  const uuid = readUuid(request.params["uuid"]);
  const session = uuid && readCookie(ctx, cookieOf(uuid), request);
  const found = uuid && session && (await findCustomerSession(ctx, session, uuid));
  if (!found) throw problem("not_signed_on");
  const { email, userId, appId, ...resource } = found;
  // For the log line, should the page fail.
  response.locals["uuid"] = uuid;
  const standing = await standingOf(uuid, ctx.vendor.actions ? appId : null, email);
  return { session, resource, person: { email, ...standing }, userId };
}

/** One cookie per resource: a customer with two resources open in two tabs is signed on to both. */
function cookieOf(uuid: string): SecretCookie {
  const maxAgeSeconds = CUSTOMER_SESSION_SECONDS;
  return { name: `kit_customer_${uuid}`, path: `/customer/${uuid}`, maxAgeSeconds };
}

/** The vendor's page, if it comes in time. */
async function pageOf(
  { customerPage }: Context,
  { resource }: Visit,
  { person, form }: CustomerTools,
): Promise<Page> {
  const late = () => new Error("The service's customerPage() takes too long");
  const page = await within<Page | undefined>(PAGE_TIME_MS, customerPage(resource, { person, form }), late);
  if (page) return page;
  throw new Error("The service's customerPage() returned nothing. Is a return missing?");
}

/** The vendor's page, followed by the e-mail address of the customer and the button for signing out. */
function framed({ content, ...page }: Page, email: string | null, here: string): Page {
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
        <form method="post" action={`${here}/sign-out`}>
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
