import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import helmet from "helmet";
import type { ComponentChildren } from "preact";
import { render } from "preact-render-to-string";
import { isDatabaseUnreachable } from "../database/retry.ts";
import { KitError, Refusal } from "../errors.ts";
import { methodNotAllowed } from "../http/requests.ts";
import type { Log } from "../logging/log.ts";
import { visibleInHtml } from "../marks.ts";
import { addressOf } from "./address.ts";
import { POLICY, RELOAD_SECONDS, script } from "./renewal.ts";
import { stylesheet } from "./style.ts";

export { Facts } from "../parts/facts.tsx";

interface Needs {
  config: { addonId: string; publicUrl: string | undefined };
  log: Log;
}

export interface Page {
  title: string;
  content: ComponentChildren;
  /** 200 unless given. */
  status?: number;
  /** Marks in its texts that turn or hide others stay as they are: it is your service's, whose language may need them. */
  keepsMarks?: boolean;
  /** The browser loads it again after so many seconds. */
  refresh?: number | undefined;
  /** It renews its content after so many seconds, and keeps focus and position. */
  renew?: number;
}

export interface Around extends Record<"navigation" | "footer", ComponentChildren> {
  /** The class of the root element: whose pages they are. `wide` unless given. */
  look?: string;
  /** A stylesheet beside that of all pages. */
  style?: string;
  /** In the place of the site's name. */
  brand?: ComponentChildren;
  /** Between the header and the page. */
  above?: ComponentChildren;
}
/** A part that puts something around its pages sets it as `response.locals.frame`, so that error pages have it too. */
export type Frame = (request: Request, page: Page) => Around;

/**
 * Renders a page, which is made of components, on the server only; every value in it is escaped. What comes from outside
 * and stands beside other words belongs into `<bdi>`, or text from right to left would turn those round.
 */
export function show(needs: Pick<Needs, "config">, request: Request, response: Response, page: Page): void {
  const around = (response.locals["frame"] as Frame | undefined)?.(request, page);
  const { base } = addressOf(needs, request);
  const rendered = render(<Layout siteName={needs.config.addonId} base={base} page={page} around={around} />);
  const html = page.keepsMarks ? rendered : visibleInHtml(rendered);
  if (page.refresh) response.set("Refresh", `${page.refresh}`);
  if (page.renew) response.set(CSP, `${response.getHeader(CSP)};${POLICY}`);
  response
    .status(page.status ?? 200)
    .type("html")
    .send(`<!doctype html>${html}`);
}

const CSP = "Content-Security-Policy";

function Layout(props: { siteName: string; base: string; page: Page; around: Around | undefined }) {
  const { siteName, base, page, around } = props;
  return (
    <html lang="en" class={around && (around.look ?? "wide")}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${page.title} · ${siteName}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={base + stylesheet.name} />
        {around?.style && <link rel="stylesheet" href={around.style} />}
        {page.renew && [
          <script defer src={base + script.name} />,
          <noscript>
            <meta http-equiv="refresh" content={`${RELOAD_SECONDS}`} />
          </noscript>,
        ]}
      </head>
      <body>
        <header>
          {around?.brand ?? <strong>{siteName}</strong>}
          {around?.navigation}
        </header>
        {around?.above}
        <main id="content" data-renew={page.renew}>
          <h1>{page.title}</h1>
          {page.content}
        </main>
        {around && <footer>{around.footer}</footer>}
      </body>
    </html>
  );
}

/** What a person is told when something cannot be done: what happened, and what to do now. Shown verbatim. */
export interface Explanation {
  status: number;
  title: string;
  /** Whole sentences that contain no text from outside. */
  happened: string;
  /** Empty: nothing is to be done. */
  advice: string;
  /** A link for going on, as a path of this service. */
  next?: { label: string; path: string };
}

/** Thrown by a route that serves pages, and shown as a page. `cause` goes to the log alone. */
export class Problem extends KitError {
  readonly explanation: Explanation;

  constructor(id: string, explanation: Explanation, options?: ErrorOptions) {
    super(id, explanation.happened, options);
    this.explanation = explanation;
  }
}

export const NOT_AVAILABLE: Explanation = {
  status: 503,
  title: "Not available for the moment",
  happened: "The service cannot reach its database, or has just started.",
  advice: "Wait a moment, then load this page again.",
};

const OUR_FAULT: Explanation = {
  status: 500,
  title: "Something went wrong here",
  happened: "This is a fault of the service, not yours.",
  advice: "Try again. If it happens again, tell whoever runs this service the time: the log knows more.",
};

/** For a form that another site may have sent. `next`: to its page. */
export function notFromOurPage(next?: Explanation["next"]): Problem {
  return new Problem("not_from_our_page", {
    status: 403,
    title: "Nothing was done",
    ...(next && { next }),
    happened: "This did not come from a page of ours, or the page was open for more than an hour.",
    advice: "Open our page again and press its button. If you pressed none: another site tried to.",
  });
}

/** The page for what a route of the site throws. A `Refusal`, or an address that is not well formed, is answered as JSON, as elsewhere. */
function showProblem(ctx: Needs): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (error instanceof Refusal || error instanceof URIError || response.headersSent) return next(error);
    const { status, title, happened, advice, next: link } = explanationOf(error);
    const uuid: unknown = response.locals["uuid"];
    const about = { requestId: request.id, ...(uuid !== undefined && { uuid }) };
    const { id, cause = isDatabaseUnreachable(error) ? error : undefined } = error as KitError;
    if (status === 500) ctx.log.error({ ...about, error }, "A page failed");
    else
      ctx.log.warn(
        { ...about, ...(cause !== undefined && { error: cause }) },
        `A page says what went wrong: ${id ?? "not available"}`,
      );
    if (status === 503) response.setHeader("Retry-After", "5");
    const content = (
      <>
        <p>{happened}</p>
        {advice !== "" && <p>{advice}</p>}
        {link && (
          <p>
            <a href={addressOf(ctx, request).base + link.path} role="button">
              {link.label}
            </a>
          </p>
        )}
      </>
    );
    show(ctx, request, response, { status, title, content });
  };
}

function explanationOf(error: unknown): Explanation {
  if (error instanceof Problem) return error.explanation;
  return isPassing(error) ? NOT_AVAILABLE : OUR_FAULT;
}

/** Whether the service cannot answer for the moment. */
export function isPassing(error: unknown): boolean {
  return isDatabaseUnreachable(error) || (error instanceof KitError && error.id === "not_ready");
}

/**
 * A policy that allows only our stylesheet, `data:` images and forms that post to us. All directives are written out:
 * helmet's default `upgrade-insecure-requests` would break a service that is tried without https.
 */
const directives = {
  "default-src": ["'none'"],
  "style-src": ["'self'"],
  "img-src": ["data:"],
  "form-action": ["'self'"],
  "frame-ancestors": ["'none'"],
  "base-uri": ["'none'"],
};

const headers = helmet({
  contentSecurityPolicy: { useDefaults: false, directives },
  // The address of a callback contains a code, so other sites must not get it. `no-referrer` would go too far: with it
  // a browser sends no usable Origin with our forms.
  referrerPolicy: { policy: "same-origin" },
  // Every answer has these.
  strictTransportSecurity: false,
  xContentTypeOptions: false,
  xFrameOptions: { action: "deny" },
});

const noStore: RequestHandler = (_request, response, next) => {
  response.set("Cache-Control", "no-store");
  next();
};

/** The handlers of each path, in order, with the headers that pages need, and a page for each error they throw. */
export function site(
  ctx: Needs,
  routers: Readonly<Record<string, readonly RequestHandler[]>>,
  sheets = [stylesheet],
): Router {
  const router = Router({ caseSensitive: true });
  for (const { path, send } of [...sheets, script])
    router.route(path).get(send).all(methodNotAllowed("GET, HEAD"));
  for (const [path, handlers] of Object.entries(routers))
    router.use(path, noStore, headers, ...handlers, showProblem(ctx));
  return router;
}
