import type { ComponentChildren } from "preact";
import { ASSETS } from "./assets.ts";

interface Layout {
  title: string;
  /** For a page that asks a single question. */
  isNarrow?: boolean;
  children: ComponentChildren;
}

/** The frame of every page of the sandbox. It needs no script. */
export function Layout({ title, isNarrow = false, children }: Layout) {
  const width = isNarrow ? "container narrow" : "container";
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Sandbox of the platform`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={`${ASSETS}/pico.css`} />
        <link rel="stylesheet" href={`${ASSETS}/pages.css`} />
      </head>
      <body>
        <header class={width}>
          <small>Sandbox: a simulated platform on this machine. No account here is real.</small>
        </header>
        <main class={width}>{children}</main>
      </body>
    </html>
  );
}
