import type { Page } from "./page.ts";

/** The frame of every page: plain HTML, no script and no style of its own. */
export function Layout({
  siteName,
  stylesheet,
  page: { title, content },
}: {
  siteName: string;
  stylesheet: string;
  page: Page;
}) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · ${siteName}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={stylesheet} />
      </head>
      <body>
        <header>
          <strong>{siteName}</strong>
        </header>
        <main>
          <h1>{title}</h1>
          {content}
        </main>
      </body>
    </html>
  );
}
