import { type Request, type RequestHandler, type Response, Router } from "express";
import type { Context } from "../context.ts";
import { customerAction } from "../extend/store.ts";
import { clientAddress, methodNotAllowed, nowAuthenticated } from "../http/requests.ts";
import { meaningOf } from "../offer.ts";
import { addressOf, goTo, isFromOurPage } from "../pages/address.ts";
import { formIn, parseForm, readForm } from "../pages/forms.ts";
import { notFromOurPage, type Problem, show } from "../pages/pages.tsx";
import { apart } from "../processes/clocks.ts";
import type { Secret } from "../secret.ts";
import { readUuid } from "../values.ts";
import { carryOut, questionOf, Result, type Visit, wishIn } from "./actions.tsx";
import { readCookie, type SecretCookie, writeCookie } from "./cookies.ts";
import {
  closeCustomerSession,
  CUSTOMER_SESSION_SECONDS,
  findCustomerSession,
  openCustomerSession,
} from "./customer-store.ts";
import { problem } from "./problems.ts";
import { showResource } from "./resource-page.tsx";
import { createRoles } from "./roles.ts";
import { readSignedForm } from "./sign-on.ts";

/** `/sso`: the sign-on of customers with a form that the platform's dashboard signed (assumed, section 6). */
export function signOnRoutes(ctx: Context, salt: Secret): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/login")
    .post(readForm(unreadable), async (request, response) => {
      const form = readSignedForm(formIn(request), salt, ctx.config.ssoRequireUser);
      const opened = await openCustomerSession(ctx, form);
      if (typeof opened === "string") throw refused(ctx, opened);
      nowAuthenticated(response);
      writeCookie(ctx, cookieOf(form.uuid), request, response, opened.session);
      const about = { uuid: form.uuid, requestId: request.id, user: form.user?.id ?? null };
      ctx.log.info({ ...about, address: clientAddress(request) }, "A customer signed on");
      goTo(ctx, request, response, `/customer/${form.uuid}`);
    })
    .all(methodNotAllowed("POST"));
  return router;
}

const unreadable = () => problem("sign_on_refused", "The sign-on cannot be read.");
const WHY_REFUSED = {
  stale:
    "By the database's clock, the sign-on was signed more than 5 minutes ago, or more than 1 minute in the future.",
  used: "The sign-on was used before.",
  gone: "The sign-on is for a resource that does not exist, or not any more.",
};

/** A sign-on that is not in time is no fault of the customer's while the clocks of database and platform differ. */
function refused({ clocks }: Context, why: keyof typeof WHY_REFUSED): Problem {
  const differ = why === "stale" ? apart(clocks.ahead()) : null;
  if (differ) return problem("clocks_differ", `${WHY_REFUSED[why]} ${differ.message} ${differ.fix}`);
  return problem("sign_on_refused", WHY_REFUSED[why]);
}

/** `/customer`: a resource's page, its actions, and the way out. */
export function customerRoutes(ctx: Context): Router {
  const router = Router({ caseSensitive: true });
  const standingOf = createRoles(ctx);

  /** Who is signed on to the resource of a request. The role is asked for only by a service that has actions. */
  async function visitOf(request: Request, response: Response): Promise<Visit> {
    const uuid = readUuid(request.params["uuid"]);
    const session = uuid && readCookie(ctx, cookieOf(uuid), request);
    const found = uuid && session && (await findCustomerSession(ctx, session, uuid));
    if (!found) throw problem("not_signed_on");
    nowAuthenticated(response);
    const { email, userId, appId, ...shown } = found;
    const resource = { ...shown, ...meaningOf(ctx.offer, shown.plan) };
    // For the log line, should the page fail.
    response.locals["uuid"] = uuid;
    const standing = await standingOf(uuid, ctx.vendor.actions ? appId : null, email);
    const visit = { session, resource, person: { email, ...standing }, userId };
    response.locals["visit"] = visit;
    return visit;
  }

  /** Before the body is read: nobody else's is. */
  const signedOn: RequestHandler = async (request, response, next) => {
    await visitOf(request, response);
    next();
  };

  router
    .route("/:uuid")
    .get(async (request, response) => {
      const visit = await visitOf(request, response);
      const [sent] = /^[\w-]{16}$/.exec(String(request.query["sent"])) ?? [];
      const ended = sent ? await customerAction(ctx.db, visit.resource.uuid, sent) : null;
      const refresh = ended?.state === "running" ? 2 : undefined;
      await showResource(
        ctx,
        { request, response, visit },
        { result: ended && <Result of={ended} />, refresh },
      );
    })
    .all(methodNotAllowed("GET, HEAD"));

  router
    .route("/:uuid/actions/:name")
    .post(signedOn, parseForm, async (request, response) => {
      const visit = response.locals["visit"] as Visit;
      const wish = wishIn(ctx, visit, request);
      const here = `${addressOf(ctx, request).base}/customer/${visit.resource.uuid}`;
      const question = questionOf(ctx, visit, here, wish);
      if (question) return show(ctx, request, response, { ...question, keepsMarks: true });
      const form = await carryOut(ctx, visit, request, wish);
      goTo(ctx, request, response, `/customer/${visit.resource.uuid}?sent=${form}`);
    })
    .all(methodNotAllowed("POST"));

  router
    .route("/:uuid/sign-out")
    .post(async (request, response) => {
      if (!isFromOurPage(ctx, request)) throw notFromOurPage();
      const uuid = readUuid(request.params["uuid"]);
      const id = uuid && readCookie(ctx, cookieOf(uuid), request);
      if (id && (await closeCustomerSession(ctx, id))) nowAuthenticated(response);
      if (uuid) writeCookie(ctx, cookieOf(uuid), request, response, null);
      goTo(ctx, request, response, `/customer/${uuid}`);
    })
    .all(methodNotAllowed("POST"));
  return router;
}

/** One cookie per resource: a customer with two resources open in two tabs is signed on to both. */
function cookieOf(uuid: string): SecretCookie {
  const maxAgeSeconds = CUSTOMER_SESSION_SECONDS;
  return { name: `kit_customer_${uuid}`, path: `/customer/${uuid}`, maxAgeSeconds };
}
