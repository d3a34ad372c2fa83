import { Router, type Request, type RequestHandler, type Response } from "express";
import { appsOf } from "../apps.ts";
import type { Audit } from "../audit.ts";
import { diffConfig } from "../config-diff.ts";
import { examine } from "../doctor/doctor.ts";
import { typedUuid } from "../errors.ts";
import { listResources, showResource, type WholeResource } from "../resources.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import type { Page, Pages } from "../../pages/pages.tsx";
import { lostProvisions } from "../../resources/lost-provisions.ts";
import type { OpenContext } from "../../open-context.ts";
import { liveScript, LOOKS_AGAIN } from "./assets/live-script.ts";
import { stylesheet } from "./assets/stylesheet.ts";
import { inFrame, MOUNT } from "./frame.tsx";
import { loadPart } from "./load-part.ts";
import { issuesOf } from "./overview/issues.ts";
import { checkUpPage } from "./overview/check-up-page.tsx";
import { createGauges } from "./overview/gauges.ts";
import { readHours } from "./overview/hours.ts";
import { overviewPage } from "./overview/overview-page.tsx";
import { policyWithScript } from "./policy.ts";
import { refused } from "./problems.ts";
import { listPage, type Search } from "./resources/list-page.tsx";
import { lostPage } from "./resources/lost-page.tsx";
import { resourcePage, type Asked } from "./resources/resource-page.tsx";
import { readTokenTimes } from "./resources/token-times.ts";
import { showRefusal } from "./show-refusal.ts";
import { actionPage } from "./work/action-page.tsx";
import { auditPage } from "./work/audit-page.tsx";

/**
 * The routes of `/operator`, for requests that `guard` lets pass; all but the check-up wait for `whenReady`. `actions`
 * are the routes of the actions; `signOut` signs out, and is null if nobody can sign in.
 */
export function operatorRoutes(needs: {
  services: OpenContext;
  pages: Pages;
  guard: RequestHandler;
  whenReady: RequestHandler;
  audit: Audit;
  actions: Router;
  signOut: RequestHandler | null;
}): Router {
  const { services, pages, guard, whenReady, audit, actions, signOut } = needs;
  const { db, platformFor, scrubber, status } = services;
  const router = Router({ caseSensitive: true });
  const gauges = createGauges(db);
  if (signOut) router.route("/sign-out").post(whenReady, signOut).all(methodNotAllowed("POST"));
  router.use(guard, policyWithScript);

  function show(path: string, page: (request: Request, root: string) => Promise<Page> | Page): void {
    router
      .route(path)
      .get(async (request: Request, response: Response) => {
        const made = await page(request, pages.addressOf(request).base + MOUNT);
        pages.show(request, response, inFrame(made, request, response, pages));
      })
      .all(methodNotAllowed("GET, HEAD"));
  }

  for (const { path, send } of [stylesheet, liveScript])
    router.route(path).get(send).all(methodNotAllowed("GET, HEAD"));

  show("/check-up", async () =>
    checkUpPage(
      await examine({
        offer: services.offer,
        readSettings: () => services.config,
        open: () => Promise.resolve(services),
      }),
    ),
  );

  router.use(whenReady);

  show("/", async (_request, root) => {
    const [measured, hours] = [await gauges(), await readHours(db)];
    const issues = await issuesOf(services, measured, hours);
    const asked = await loadPart(status.look(), scrubber.scrub);
    const known = "value" in asked ? asked.value : status.known();
    return overviewPage({ issues, gauges: measured, hours, known }, root);
  });

  show("/resources", async ({ query }, root) => {
    const search: Search = {
      text: word(query["text"]),
      state: word(query["state"]),
      after: word(query["after"]),
    };
    return listPage(search, await listResources(db, search), root);
  });

  show("/lost", async () => lostPage(await lostProvisions(db)));

  show("/resources/:uuid", async (request, root) => {
    const uuid = typedUuid(String(request.params["uuid"]));
    const record = await showResource(db, uuid);
    const asked = request.get(LOOKS_AGAIN) === undefined ? askPlatform(record) : null;
    return resourcePage({ record, times: await readTokenTimes(db, uuid), asked: await asked }, root);
  });

  /** Never rejects; each part is settled within its time limit. */
  async function askPlatform({ uuid, credential }: WholeResource): Promise<Asked> {
    const hasTokens = ["active", "needs_reauth"].includes(credential.state);
    const ask = <T>(asked: () => Promise<T>) => (hasTokens ? loadPart(asked(), scrubber.scrub) : null);
    const apps = ask(() => appsOf({ db, platformFor }, uuid));
    const vars = ask(() => diffConfig(services, uuid));
    return { apps: await apps, vars: await vars };
  }

  show("/actions", async ({ query }, root) => {
    const before = /^\d{1,15}$/.test(String(query["before"])) ? Number(query["before"]) : null;
    return auditPage(await audit.page(before), root);
  });

  show("/actions/:id", async ({ params }, root) => {
    const id = String(params["id"]);
    const entry = /^\d{1,15}$/.test(id) ? await audit.find(Number(id)) : null;
    if (!entry) throw refused("not_found", 404, "There is no such action.");
    return actionPage(entry, root);
  });

  router.use(actions, nothingHere, showRefusal(scrubber.scrub));
  return router;
}

// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f]/g;
const LONGEST_WORD = 300;

const nothingHere: RequestHandler = () => {
  throw refused("not_found", 404, "There is no page of the operator's at this address.");
};

/** A search text without control characters, cut to a name's length; undefined if it is empty. */
function word(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.replace(CONTROLS, "").trim();
  return text === "" ? undefined : text.slice(0, LONGEST_WORD);
}
