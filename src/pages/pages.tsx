import type { Request, Response } from "express";
import type { ComponentChildren } from "preact";
import { render } from "preact-render-to-string";
import { stylesheet } from "./asset.ts";
import type { Told } from "./problem.ts";

export { Problem, type Told } from "./problem.ts";

/** What a route shows. */
export interface Page {
  title: string;
  content: ComponentChildren;
  /** 200 unless given. */
  status?: number;
  /** What the pages of one part add to the common frame. */
  extras?: PageExtras;
}

/**
 * `stylesheet` and `script` are addresses as the browser requests them; they must be of our origin, as the policy
 * blocks all others.
 */
export interface PageExtras {
  stylesheet: string;
  script: string;
  navigation: ComponentChildren;
  footer: ComponentChildren;
}

/** The address of this service as a browser sees it. */
export interface Address {
  origin: string;
  /** The path prefix under which a proxy serves us; empty if there is none. */
  base: string;
  isSecure: boolean;
}

export type AddressOf = (request: Request) => Address;

/** What every page needs: the function that renders it in the common frame, and the address at which browsers see us. */
export interface Pages {
  show(request: Request, response: Response, page: Page): void;
  addressOf: AddressOf;
}

/** Renders pages, which are components, on the server only; every value in them is escaped. */
export function createPages({
  siteName,
  publicUrl,
}: {
  siteName: string;
  publicUrl: string | undefined;
}): Pages {
  const addressOf = createAddressOf(publicUrl);
  return {
    addressOf,
    show(request, response, page) {
      const href = addressOf(request).base + stylesheet.name;
      const html = render(<Layout siteName={siteName} stylesheet={href} page={page} />);
      response
        .status(page.status ?? 200)
        .type("html")
        .send(`<!doctype html>${html}`);
    },
  };
}

/** Takes the address from `PUBLIC_URL`, or else from the request, which trusts as many proxies as `TRUST_PROXY` says. */
function createAddressOf(publicUrl: string | undefined): AddressOf {
  if (publicUrl === undefined)
    return ({ protocol, host }) => ({
      origin: `${protocol}://${host}`,
      base: "",
      isSecure: protocol === "https",
    });
  const { origin, pathname, protocol } = new URL(publicUrl);
  const address = { origin, base: pathname.replace(/\/+$/, ""), isSecure: protocol === "https:" };
  return () => address;
}

/** The frame of every page: plain HTML, no script and no style within it. */
function Layout({ siteName, stylesheet, page }: { siteName: string; stylesheet: string; page: Page }) {
  const { title, content, extras } = page;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · ${siteName}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={stylesheet} />
        {extras && <link rel="stylesheet" href={extras.stylesheet} />}
        {extras && <script src={extras.script} defer />}
      </head>
      <body>
        <header>
          <strong>{siteName}</strong>
          {extras?.navigation}
        </header>
        <main>
          <h1>{title}</h1>
          {content}
        </main>
        {extras && <footer>{extras.footer}</footer>}
      </body>
    </html>
  );
}

/** What went wrong, and what to do now. `base`: as of an {@link Address}. */
export function problemPage({ status, title, happened, advice, next }: Told, base: string): Page {
  return {
    ...{ status, title },
    content: (
      <>
        <p>{happened}</p>
        <p>{advice}</p>
        {next && (
          <p>
            <a href={base + next.path} role="button">
              {next.label}
            </a>
          </p>
        )}
      </>
    ),
  };
}
