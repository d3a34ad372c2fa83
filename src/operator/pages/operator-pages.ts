import { Router, type ErrorRequestHandler, type Request, type RequestHandler } from "express";
import { h } from "preact";
import { KitError, Refusal } from "../../errors.ts";
import { methodNotAllowed } from "../../http/requests.ts";
import type { OpenContext } from "../../context.ts";
import { addressOf } from "../../pages/address.ts";
import { show, type Page } from "../../pages/pages.tsx";
import { isPassing, Problem } from "../../pages/problem.tsx";
import { examine } from "../doctor/doctor.ts";
import { typedUuid, UnknownResource, UsedWrongly } from "../errors.ts";
import { createOverview } from "../overview.ts";
import { actionsBefore, findAction } from "../store.ts";
import { listResources, showResource } from "../resources.ts";
import { guard } from "./access.tsx";
import { actionRoutes } from "./action-routes.tsx";
import { createActionRunner } from "./action-runner.ts";
import { yoursOfOne } from "./actions.tsx";
import { actionPage, auditPage } from "./audit-pages.tsx";
import { MOUNT, policyWithScript } from "./frame.tsx";
import { liveScript, LOOKS_AGAIN } from "./live-script.ts";
import { checkUpPage, overviewPage } from "./overview.tsx";
import { Root } from "./parts.tsx";
import { listPage } from "./resource-list.tsx";
import { askPlatform, resourcePage } from "./resource-page.tsx";

/**
 * The operator's pages, to be mounted at `/operator`. `byPassword` checks the operator's password; null if none is set.
 * `whenReady` holds back requests until a service that has just started is ready; all but the check-up wait for it.
 * `stop` ends the running actions; requests that were sent are finished and their results stored.
 */
export function createOperatorPages(
  ctx: OpenContext,
  needs: { byPassword: RequestHandler | null; whenReady: RequestHandler },
): { router: Router; stop(): Promise<void> } {
  const { byPassword: password, whenReady } = needs;
  const { db, scrubber, log } = ctx;
  const runner = createActionRunner({ db, scrub: scrubber.scrub, log });
  const router = Router({ caseSensitive: true });
  const overview = createOverview(ctx);

  function page(path: string, made: (request: Request) => Promise<Page>): void {
    router
      .route(path)
      .get(async (request, response) => {
        const { title, content } = await made(request);
        const root = addressOf(ctx, request).base + MOUNT;
        show(ctx, request, response, { title, content: h(Root.Provider, { value: root }, content) });
      })
      .all(methodNotAllowed("GET, HEAD"));
  }

  router.use(guard(ctx, password), policyWithScript);
  router.route(liveScript.path).get(liveScript.send).all(methodNotAllowed("GET, HEAD"));
  page("/check-up", async () =>
    checkUpPage(
      await examine({ offer: ctx.offer, readSettings: () => ctx.config, open: () => Promise.resolve(ctx) }),
    ),
  );
  router.use(whenReady);

  page("/", async () => overviewPage(await overview()));
  page("/resources", async ({ query }) => {
    const [text, state, after] = [word(query["text"]), word(query["state"]), word(query["after"])];
    return listPage({ text, state, after }, await listResources(db, { text, state, after }));
  });
  page("/resources/:uuid", async (request) => {
    const record = await showResource(db, typedUuid(String(request.params["uuid"])));
    // The script replaces no part that shows the platform's answers.
    const asked = request.get(LOOKS_AGAIN) === undefined ? await askPlatform(ctx, record) : null;
    return resourcePage(record, asked, yoursOfOne(ctx));
  });
  page("/actions", async ({ query }) => auditPage(await actionsBefore(db, numberIn(query["before"]))));
  page("/actions/:id", async ({ params }) => {
    const id = numberIn(params["id"]);
    const entry = id === null ? null : await findAction(db, id);
    if (!entry) throw refused("not_found", 404, "There is no such action.");
    return actionPage(entry);
  });

  router.use(actionRoutes(ctx, runner));
  router.use(() => {
    throw refused("not_found", 404, "There is no page of the operator's at this address.");
  });
  router.use(showRefusal(scrubber.scrub));
  return { router, stop: runner.stop };
}

function numberIn(value: unknown): number | null {
  return /^\d{1,15}$/.test(String(value)) ? Number(value) : null;
}

const LONGEST_WORD = 300;

/** A search text without control characters, cut to a name's length; undefined if it is empty. */
function word(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return (
    value
      .replace(/\p{Cc}/gu, "")
      .trim()
      .slice(0, LONGEST_WORD) || undefined
  );
}

/** A refusal by an operation itself; its sentence may be shown. */
function refused(id: string, status: number, happened: string): Problem {
  const title = status === 404 ? "There is nothing here" : "That cannot be done";
  return new Problem(id, { status, title, happened, advice: "Nothing was changed." });
}

/**
 * Shows an operation's refusal as a page, in its own words, as the command line does. Any other error is passed on to
 * the page for unforeseen errors.
 */
function showRefusal(scrub: (text: string) => string): ErrorRequestHandler {
  return (error: unknown, _request, _response, next) => {
    const isOther = error instanceof Refusal || error instanceof Problem || isPassing(error);
    const isRefusal = error instanceof KitError && !isOther;
    next(isRefusal ? refused(error.id, statusOf(error), scrub(error.message)) : error);
  };
}

function statusOf(error: KitError): number {
  if (error instanceof UnknownResource) return 404;
  return error instanceof UsedWrongly ? 400 : 409;
}
