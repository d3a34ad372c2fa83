import type { Request, Response } from "express";
import type { ComponentChildren } from "preact";
import type { Context } from "../context.ts";
import { KitError, Refusal } from "../errors.ts";
import { visible } from "../marks.ts";
import { addressOf } from "../pages/address.ts";
import { Facts, isPassing, type Page, Problem, show } from "../pages/pages.tsx";
import { Card } from "../parts/cards.tsx";
import { within } from "../within.ts";
import { formsOf } from "./actions.tsx";
import type { CustomerPage, CustomerResource } from "./contract.ts";
import { wayBack } from "./frame.tsx";
import { linksOf, maySee, pageNamed, pathOf } from "./places.tsx";
import { problem, refusedByVendor } from "./problems.ts";
import type { Visit } from "./visit.ts";

/** A customer waits in front of a browser; a page that takes longer than this is a fault of the vendor's service. */
const PAGE_TIME_MS = 5_000;

/** What the kit adds to the vendor's page. */
interface Added {
  /** What came of an action. */
  result?: ComponentChildren;
  refresh?: number | undefined;
}

/**
 * Shows a page of the vendor's about a resource. If that throws, hangs, or cannot be rendered, the kit shows what it knows of
 * the resource in its place. Throws what is no fault of the vendor's: a `Problem`, also of a page that there is not or that
 * refuses, or that our database is unreachable.
 */
export async function showPlace(
  ctx: Context,
  { request, response, visit }: { request: Request; response: Response; visit: Visit },
  { result, refresh }: Added = {},
): Promise<void> {
  const isReadOnly = visit.session === null;
  const around = (page: Page): Page => ({
    ...page,
    refresh,
    content: (
      <>
        {result}
        <div class="content">
          {/* Also buttons of the vendor's own do nothing then. */}
          {isReadOnly ? <fieldset disabled>{page.content}</fieldset> : page.content}
        </div>
      </>
    ),
  });
  try {
    show(ctx, request, response, { ...around(await yoursOf(ctx, request, visit)), keepsMarks: true });
  } catch (error) {
    if (error instanceof Refusal) throw refusedByVendor(error, otherThan(visit));
    if (error instanceof Problem || isPassing(error) || response.headersSent) throw error;
    ctx.log.error({ requestId: request.id, uuid: visit.resource.uuid, error }, "A page failed");
    show(ctx, request, response, around(plainPage(withMarks(visit.resource))));
  }
}

async function yoursOf(ctx: Context, request: Request, visit: Visit): Promise<Page> {
  const { resource, person, place } = visit;
  const { base } = addressOf(ctx, request);
  const shown = withMarks(resource);
  const tools = {
    person: withMarks(person),
    query: withMarks(place.query),
    dashboard: wayBack(ctx, resource.appName),
    form: formsOf(ctx, visit, base),
    link: linksOf(ctx, visit, base),
  };
  const render = renderOf(ctx, visit);
  const what = place.page === null ? "customerPage()" : `page ${place.page}`;
  const late = () => new Error(`The service's ${what} takes too long`);
  // Its backend's errors would be taken for those of our database; a Refusal, or an error of the kit's, is no fault.
  const made = (async () => render(shown, tools))().catch((cause: unknown) => {
    if (cause instanceof KitError) throw cause;
    throw new KitError("customer_page_failed", `The service's ${what} failed`, { cause });
  });
  return within(PAGE_TIME_MS, made, late);
}

/** What renders the page of a visit. Throws a `Problem` if there is none, or not for this person. */
function renderOf(ctx: Context, visit: Visit): CustomerPage {
  const { page: name } = visit.place;
  if (name === null) return ctx.customerPage;
  const page = pageNamed(ctx, name);
  if (!page) throw problem("no_such_page", undefined, otherThan(visit));
  if (!maySee(ctx, name, page, visit.person)) throw problem("not_for_role", undefined, otherThan(visit));
  return async (resource, tools) => ({ title: page.title, content: await page.render(resource, tools) });
}

/** Where to go from a page that cannot be shown; undefined if it is the first one. */
const otherThan = ({ at, place }: Visit) =>
  place.page === null
    ? undefined
    : { label: "Go to the overview", path: pathOf({ at, place: { page: null, query: {} } }) };

function plainPage({ name, plan, isChangingPlan, region, state, appName }: CustomerResource): Page {
  return {
    status: 500,
    title: name ?? "Your add-on",
    content: (
      <>
        <p class="told bad" role="alert">
          This page cannot be shown in full. This is a fault of the service, not yours, and changes nothing of
          your add-on. Try again later.
        </p>
        <Card title="Add-on">
          <Facts
            of={[
              ["Plan", isChangingPlan ? `${plan} (the change is under way)` : plan],
              region !== null && ["Region", region],
              ["State", state === "provisioned" ? "Ready" : "Being made"],
              appName !== null && ["App", appName],
            ]}
          />
        </Card>
      </>
    ),
  };
}

const isPlain = (value: unknown): value is object =>
  Object.prototype.toString.call(value) === "[object Object]";

/** What a page is made of, with the marks in names from outside visible: the page's own may stay. */
function withMarks<Shown extends object>(members: Shown): Shown {
  const shown = Object.entries(members).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === "string" ? visible(value) : isPlain(value) ? withMarks(value) : value,
  ]);
  // Parameters of an address have no prototype.
  return Object.assign(
    Object.create(Object.getPrototypeOf(members) as object | null) as Shown,
    Object.fromEntries(shown),
  );
}
