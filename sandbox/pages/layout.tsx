import type { ComponentChildren } from "preact";
import { ASSETS } from "./assets.ts";

interface Layout {
  title: string;
  children: ComponentChildren;
}

/** The frame of every page of the sandbox; no script, so that it works without. */
export function Layout({ title, children }: Layout) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · The platform, played locally`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={`${ASSETS}/pico.css`} />
        <link rel="stylesheet" href={`${ASSETS}/pages.css`} />
      </head>
      <body>
        <header class="container">
          <small>The platform, played locally: a sandbox. No account here is real.</small>
        </header>
        <main class="container">{children}</main>
      </body>
    </html>
  );
}
