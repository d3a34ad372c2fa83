import type { Page } from "./page.ts";

/** The frame of every page: plain HTML, no script and no style within it. */
export function Layout({
  siteName,
  stylesheet,
  page: { title, content, extras },
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
