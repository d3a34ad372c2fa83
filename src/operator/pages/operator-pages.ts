import { Router, type Request, type RequestHandler } from "express";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import type { OpenContext } from "../../open-context.ts";
import type { Page, Pages } from "../../pages/pages.tsx";
import type { Frame } from "../../pages/site.ts";
import type { SignIn } from "../../people/sign-in.ts";
import { lostProvisions } from "../../resources/lost-provisions.ts";
import type { AccessTrail } from "../access-trail.ts";
import { appsOf } from "../apps.ts";
import { issuesOf } from "../attention.ts";
import { createAudit } from "../audit.ts";
import { diffConfig } from "../config-diff.ts";
import { examine } from "../doctor/doctor.ts";
import { typedUuid } from "../errors.ts";
import { createGauges } from "../gauges.ts";
import { readHours } from "../store.ts";
import { listResources, showResource, tokenTimes, type WholeResource } from "../resources.ts";
import { createGuard, signOut } from "./access.tsx";
import { actionRoutes } from "./action-routes.tsx";
import { createActionRunner } from "./action-runner.ts";
import { liveScript, LOOKS_AGAIN, stylesheet } from "./assets.ts";
import { actionPage, auditPage } from "./audit-pages.tsx";
import { inFrame, MOUNT, policyWithScript } from "./frame.tsx";
import { checkUpPage, overviewPage } from "./overview.tsx";
import { refused, showRefusal } from "./problems.ts";
import { listPage, lostPage } from "./resource-list.tsx";
import { loadPart, resourcePage, type Asked } from "./resource-page.tsx";

/** The operator's pages. */
export interface OperatorPages {
  /** To be mounted at `/operator`. */
  router: Router;
  /** For error pages that are shown in place of one of these. */
  frame: Frame;
  /** Stops the running actions; requests that were sent are finished and their results stored. */
  stop(): Promise<void>;
}

/**
 * `signIn` is null if people cannot sign in here. `byPassword` checks the operator's password; null if none is set.
 * `whenReady` holds back requests until a service that has just started is ready; all but the check-up wait for it.
 */
export function createOperatorPages(
  ctx: OpenContext,
  needs: {
    pages: Pages;
    signIn: SignIn | null;
    byPassword: RequestHandler | null;
    whenReady: RequestHandler;
    trail: AccessTrail;
  },
): OperatorPages {
  const { pages, signIn, byPassword: password, whenReady, trail } = needs;
  const { db, scrubber, log } = ctx;
  const audit = createAudit(db);
  const runner = createActionRunner({ audit, scrub: scrubber.scrub, log });
  const router = Router({ caseSensitive: true });
  const gauges = createGauges(db);

  function show(path: string, page: (request: Request, root: string) => Promise<Page> | Page): void {
    router
      .route(path)
      .get(async (request, response) => {
        const made = await page(request, pages.addressOf(request).base + MOUNT);
        pages.show(request, response, inFrame(made, request, response, pages));
      })
      .all(methodNotAllowed("GET, HEAD"));
  }

  if (signIn && ctx.config.operatorAccounts.length > 0)
    router.route("/sign-out").post(whenReady, signOut({ signIn, pages })).all(methodNotAllowed("POST"));
  router.use(createGuard(ctx, { password, signIn, pages, trail }), policyWithScript);
  for (const { path, send } of [stylesheet, liveScript])
    router.route(path).get(send).all(methodNotAllowed("GET, HEAD"));
  show("/check-up", async () =>
    checkUpPage(
      await examine({ offer: ctx.offer, readSettings: () => ctx.config, open: () => Promise.resolve(ctx) }),
    ),
  );
  router.use(whenReady);

  show("/", async (_request, root) => {
    const [measured, hours] = [await gauges(), await readHours(db)];
    const issues = await issuesOf(ctx, measured, hours);
    const asked = await loadPart(ctx.status.look(), scrubber.scrub);
    const known = "value" in asked ? asked.value : ctx.status.known();
    return overviewPage({ issues, gauges: measured, hours, known }, root);
  });

  show("/resources", async ({ query }, root) => {
    const [text, state, after] = [word(query["text"]), word(query["state"]), word(query["after"])];
    return listPage({ text, state, after }, await listResources(db, { text, state, after }), root);
  });

  show("/lost", async () => lostPage(await lostProvisions(db)));

  show("/resources/:uuid", async (request, root) => {
    const record = await showResource(db, typedUuid(String(request.params["uuid"])));
    const isWhole = request.get(LOOKS_AGAIN) === undefined;
    const asked = isWhole ? await askPlatform(ctx, record) : null;
    return resourcePage(record, await tokenTimes(db, record.uuid), asked, root);
  });

  show("/actions", async ({ query }, root) => auditPage(await audit.page(numberIn(query["before"])), root));

  show("/actions/:id", async ({ params }, root) => {
    const id = numberIn(params["id"]);
    const entry = id === null ? null : await audit.find(id);
    if (!entry) throw refused("not_found", 404, "There is no such action.");
    return actionPage(entry, root);
  });

  router.use(actionRoutes(ctx, { pages, runner }), nothingHere, showRefusal(scrubber.scrub));
  return {
    router,
    frame: (page, request, response) => inFrame(page, request, response, pages),
    stop: runner.stop,
  };
}

/** Never rejects; each part is settled within its time limit. */
async function askPlatform(ctx: OpenContext, { uuid, credential }: WholeResource): Promise<Asked> {
  const hasTokens = ["active", "needs_reauth"].includes(credential.state);
  const ask = <T>(asked: () => Promise<T>) => (hasTokens ? loadPart(asked(), ctx.scrubber.scrub) : null);
  const [apps, vars] = await Promise.all([ask(() => appsOf(ctx, uuid)), ask(() => diffConfig(ctx, uuid))]);
  return { apps, vars };
}

const nothingHere: RequestHandler = () => {
  throw refused("not_found", 404, "There is no page of the operator's at this address.");
};

function numberIn(value: unknown): number | null {
  return /^\d{1,15}$/.test(String(value)) ? Number(value) : null;
}

// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f]/g;
const LONGEST_WORD = 300;

/** A search text without control characters, cut to a name's length; undefined if it is empty. */
function word(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return value.replace(CONTROLS, "").trim().slice(0, LONGEST_WORD) || undefined;
}
