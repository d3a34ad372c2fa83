import type { Request, Response } from "express";
import type { ComponentChildren } from "preact";
import { render } from "preact-render-to-string";
import type { Config } from "../config.ts";
import { addressOf } from "./address.ts";
import { stylesheet } from "./style.ts";

/** What a route shows. */
export interface Page {
  title: string;
  content: ComponentChildren;
  /** 200 unless given. */
  status?: number;
}

/** What a part of the site puts around each of its pages. `script` is an address of our origin. */
interface Around {
  script: string;
  navigation: ComponentChildren;
  footer: ComponentChildren;
}

/** A part that has one sets it as `response.locals.frame`, so that its error pages have it too. */
export type Frame = (request: Request, page: Page) => Around;

/** Renders a page, which is made of components, on the server only; every value in it is escaped. */
export function show(
  needs: { config: Pick<Config, "addonId" | "publicUrl"> },
  request: Request,
  response: Response,
  page: Page,
): void {
  const around = (response.locals["frame"] as Frame | undefined)?.(request, page);
  const style = addressOf(needs, request).base + stylesheet.name;
  const html = render(<Layout siteName={needs.config.addonId} style={style} page={page} around={around} />);
  response
    .status(page.status ?? 200)
    .type("html")
    .send(`<!doctype html>${html}`);
}

/** Plain HTML; no script and no style stands within it. */
function Layout(props: { siteName: string; style: string; page: Page; around: Around | undefined }) {
  const { siteName, style, page, around } = props;
  return (
    <html lang="en" class={around && "wide"}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${page.title} · ${siteName}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={style} />
        {around && <script src={around.script} defer />}
      </head>
      <body>
        <header>
          <strong>{siteName}</strong>
          {around?.navigation}
        </header>
        <main>
          <h1>{page.title}</h1>
          {page.content}
        </main>
        {around && <footer>{around.footer}</footer>}
      </body>
    </html>
  );
}

type Fact = [name: ComponentChildren, value: ComponentChildren];

/** Names and values, one below the other. A null is left out. */
export function Facts({ of }: { of: readonly (Fact | null)[] }) {
  const facts = of.filter((fact) => fact !== null);
  return (
    <dl>
      {facts.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
