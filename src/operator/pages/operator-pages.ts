import { type ErrorRequestHandler, type Request, type RequestHandler, Router } from "express";
import { h } from "preact";
import type { OpenContext } from "../../context.ts";
import { KitError, messageOf, Refusal, storable } from "../../errors.ts";
import { methodNotAllowed } from "../../http/requests.ts";
import { addressOf } from "../../pages/address.ts";
import { isPassing, NOT_AVAILABLE, type Page, Problem, show } from "../../pages/pages.tsx";
import { actionsBefore, findAction } from "../audit.ts";
import { examine } from "../doctor/doctor.ts";
import { typedUuid, UnknownResource, UsedWrongly } from "../errors.ts";
import { listEvents } from "../events.ts";
import { createOverview } from "../overview.ts";
import { knownDifferences } from "../reconcile/known.ts";
import { listResources } from "../resource-list.ts";
import { showResource } from "../resources.ts";
import { counted, moment, sentence } from "../wording.ts";
import { jobHistory, listJobs } from "../your-jobs.ts";
import { guard } from "./access.tsx";
import { actionRoutes, createActionRunner, yoursOfOne } from "./actions.tsx";
import { actionPage, auditPage } from "./audit-pages.tsx";
import { showCustomerView } from "./customer-view.tsx";
import { EVENTS_QUERY, EVENTS_SIZE, eventsPage } from "./events-page.tsx";
import { MOUNT, operatorOf } from "./frame.tsx";
import { jobPage, jobsPage } from "./jobs-page.tsx";
import { ledgersPage } from "./ledgers-page.tsx";
import { LIST_QUERY, LIST_SIZE, listPage } from "./list-page.tsx";
import { checkUpPage, overviewPage } from "./overview.tsx";
import { Root } from "./parts.tsx";
import { askedApps, resourcePage } from "./resource-pages.tsx";
import { runbookPage } from "./runbook-page.tsx";

/** All but the check-up and the runbook wait until the service is ready. `stop` ends the running actions, and waits for them. */
export function createOperatorPages(
  ctx: OpenContext,
  { byPassword, whenReady }: { byPassword: RequestHandler | null; whenReady: RequestHandler },
) {
  const { db, scrubber, log } = ctx;
  const runner = createActionRunner({ db, scrub: scrubber.scrub, log });
  const router = Router({ caseSensitive: true });
  const overview = createOverview(ctx);

  /** `known`: the parameters of its address. */
  function page<Name extends string = never>(
    path: string,
    made: (request: Request, query: Query<Name>) => Promise<Page>,
    known: readonly Name[] = [],
  ): void {
    router
      .route(path)
      .get(async (request, response) => {
        const { content, ...page } = await made(request, queryOf(request, known));
        const root = addressOf(ctx, request).base + MOUNT;
        show(ctx, request, response, { ...page, content: h(Root.Provider, { value: root }, content) });
      })
      .all(methodNotAllowed("GET, HEAD"));
  }

  router.use(guard(ctx, byPassword));
  page("/check-up", async () =>
    checkUpPage(await examine({ readSettings: () => ctx.config, open: () => Promise.resolve(ctx) })),
  );
  page("/runbook", runbookPage);
  router.use(whenReady);

  page("/", async () => overviewPage(await overview()));
  const plans = Object.keys(ctx.offer.plans);
  page(
    "/resources",
    async (_request, query) => listPage(query, await listResources(db, query, LIST_SIZE), plans),
    LIST_QUERY,
  );
  page(
    "/events",
    async (_request, query) => eventsPage(query, await listEvents(db, query, EVENTS_SIZE), plans),
    EVENTS_QUERY,
  );
  page("/resources/:uuid", async (request) => {
    const record = await showResource(db, typedUuid(String(request.params["uuid"])));
    return resourcePage(record, await askedApps(ctx, record.uuid), yoursOfOne(ctx));
  });
  router
    .route("/resources/:uuid/customer")
    .get((request, response) => showCustomerView(ctx, request, response))
    .all(methodNotAllowed("GET, HEAD"));
  const ofCode = ctx.vendor.jobs ?? [];
  page("/jobs", async () => jobsPage(await listJobs(db, ofCode)));
  page(
    "/jobs/:name",
    async ({ params }, { after }) => {
      const job = (await listJobs(db, ofCode)).find(({ name }) => name === params["name"]);
      if (!job) throw refused("not_found", 404, "Your service has no job of this name.");
      return jobPage(job, await jobHistory(db, ofCode, job.name, numberIn(after)), after);
    },
    ["after"],
  );
  page("/ledgers", async () => ledgersPage(await knownDifferences(ctx)));
  page("/actions", async (_, { before }) => auditPage(await actionsBefore(db, numberIn(before))), ["before"]);
  page(
    "/actions/:id",
    async ({ params }, { already }) => {
      const id = numberIn(params["id"]);
      const entry = id === null ? null : await findAction(db, id);
      if (!entry) throw refused("not_found", 404, "There is no such action.");
      return actionPage(entry, already !== undefined);
    },
    ["already"],
  );

  router.use(actionRoutes(ctx, runner));
  router.use(() => {
    throw refused("not_found", 404, "There is no page of the operator's at this address.");
  });
  router.use(showOutage(ctx));
  router.use(showRefusal(scrubber.scrub));
  return { router, stop: runner.stop };
}

function numberIn(value: unknown): number | null {
  return /^\d{1,15}$/.test(String(value)) ? Number(value) : null;
}

type Query<Name extends string> = { [Each in Name]?: string | undefined };

/** The way in by the password (access.tsx). */
const ALWAYS_KNOWN = ["with"];

/** The parameters of an address; an empty one is left out. Throws {@link UsedWrongly} for one that the page does not know. */
function queryOf<Name extends string>({ query }: Request, known: readonly Name[]): Query<Name> {
  const found: Query<Name> = {};
  for (const [name, value] of Object.entries(query)) {
    if (ALWAYS_KNOWN.includes(name)) continue;
    const its = known.find((each) => each === name);
    const words = known.length === 0 ? "It takes none." : `Known: ${known.join(", ")}.`;
    if (!its) throw new UsedWrongly(`This page has no parameter "${name}". ${words}`);
    if (typeof value !== "string")
      throw new UsedWrongly(`The parameter "${name}" must be given once, as text.`);
    found[its] = storable(value).trim() || undefined;
  }
  return found;
}

/** A refusal by an operation itself; its sentence may be shown. */
function refused(id: string, status: number, happened: string): Problem {
  const title = status === 404 ? "There is nothing here" : "That cannot be done";
  return new Problem(id, { status, title, happened, advice: "Nothing was changed." });
}

/** In an outage of the database, an operator sees what is being lost, and the way to the cause. */
function showOutage({ lostSales, scrubber, pace: { requestMs } }: OpenContext): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (!isPassing(error) || !operatorOf(response)) return next(error);
    const refused = lostSales.held();
    const waits = `Each provision waits ${requestMs / 1_000} seconds for the database and is then refused, which the platform takes as final.`;
    const what = `The service cannot work with its database: ${sentence(scrubber.scrub(messageOf(error)))}`;
    const happened =
      refused.length > 0
        ? `${what} This process has refused ${counted(refused.length, "provision")} since ${moment(refused[0]!.at.toISOString())} UTC: each is a lost sale. ${waits}`
        : `${what} This process has refused no provision yet. ${waits}`;
    const advice =
      "The check-up names the cause. When the database works again, the overview and kit lost list the lost sales.";
    const link = { label: "Open the check-up", path: `${MOUNT}/check-up` };
    const explanation = { ...NOT_AVAILABLE, happened, advice, next: link };
    next(new Problem("not_available", explanation, { cause: error }));
  };
}

/** Shows an operation's refusal as a page, in its own words, as the command line does. */
function showRefusal(scrub: (text: string) => string): ErrorRequestHandler {
  return (error: unknown, _request, _response, next) => {
    const isOther = error instanceof Refusal || error instanceof Problem || isPassing(error);
    if (isOther || !(error instanceof KitError)) return next(error);
    const ofThoseWhoAsk = error instanceof UsedWrongly ? 400 : 409;
    const status = error instanceof UnknownResource ? 404 : ofThoseWhoAsk;
    next(refused(error.id, status, scrub(error.message)));
  };
}
