import type { Request, Response } from "express";
import type { ComponentChildren } from "preact";
import type { Context } from "../context.ts";
import { KitError, Refusal } from "../errors.ts";
import { visible } from "../marks.ts";
import { addressOf } from "../pages/address.ts";
import { Facts, isPassing, type Page, Problem, show } from "../pages/pages.tsx";
import { Card } from "../parts/cards.tsx";
import { within } from "../within.ts";
import { formsOf, type Visit } from "./actions.tsx";
import type { CustomerResource } from "./contract.ts";
import { wayBack } from "./frame.tsx";

/** A customer waits in front of a browser; a page that takes longer than this is a fault of the vendor's service. */
const PAGE_TIME_MS = 5_000;

/** What the kit adds to the vendor's page. */
interface Added {
  /** What came of an action. */
  result?: ComponentChildren;
  refresh?: number | undefined;
}

/**
 * Shows the vendor's page of a resource. If that throws, hangs, or cannot be rendered, the kit shows what it knows of the
 * resource in its place. Throws what is no fault of the vendor's: a `Refusal`, or that our database is unreachable.
 */
export async function showResource(
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
    if (error instanceof Refusal || error instanceof Problem || isPassing(error) || response.headersSent)
      throw error;
    ctx.log.error({ requestId: request.id, uuid: visit.resource.uuid, error }, "A page failed");
    show(ctx, request, response, around(plainPage(withMarks(visit.resource))));
  }
}

async function yoursOf(ctx: Context, request: Request, visit: Visit): Promise<Page> {
  const { resource, person } = visit;
  const form = formsOf(ctx, visit, `${addressOf(ctx, request).base}/customer/${resource.uuid}`);
  const dashboard = wayBack(ctx, resource.appName);
  const late = () => new Error("The service's customerPage() takes too long");
  // Its backend's errors would be taken for those of our database; a Refusal, or an error of the kit's, is no fault.
  const made = (async () =>
    ctx.customerPage(withMarks(resource), { person: withMarks(person), form, dashboard }))().catch(
    (cause: unknown) => {
      if (cause instanceof KitError) throw cause;
      throw new KitError("customer_page_failed", "The service's customerPage() failed", { cause });
    },
  );
  return within(PAGE_TIME_MS, made, late);
}

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
  return Object.fromEntries(shown) as Shown;
}
