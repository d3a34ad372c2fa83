import { ASSETS } from "../assets.ts";
import { HOME, LEDGER, PLATFORM } from "./addresses.ts";
import type { Attempt, MarketPage, Notice, Part } from "./page.ts";

const parts: readonly [part: Part, at: string, text: string][] = [
  ["apps", HOME, "Apps"],
  ["ledger", LEDGER, "Ledger"],
  ["platform", PLATFORM, "Platform"],
];

interface LayoutProps extends MarketPage {
  notice: Notice | null;
  attempt: Attempt | null;
  /** The path of this page, for loading it again. */
  at: string;
}

/** The frame of the marketplace's pages: navigation, the notice of the last action, and the page itself. */
export function MarketLayout({ title, part, content, notice, attempt, at }: LayoutProps) {
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
        <link rel="stylesheet" href={`${ASSETS}/market.css`} />
        <script src={`${ASSETS}/live.js`} defer />
      </head>
      <body class="market">
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <header class="top">
          <div class="container">
            <a class="brand" href={HOME}>
              <strong>Marketplace</strong> <small>of the simulated platform</small>
            </a>
            <nav aria-label="Parts of the marketplace">
              <ul>
                {parts.map(([each, address, text]) => (
                  <li>
                    <a href={address} {...(each === part && { "aria-current": "page" })}>
                      {text}
                    </a>
                  </li>
                ))}
              </ul>
            </nav>
          </div>
        </header>
        <main class="container" id="content" tabIndex={-1}>
          {notice && <Told {...notice} />}
          {attempt && <NotDone {...attempt} />}
          {content}
        </main>
        <footer class="container foot">
          <p class="live-state" role="status" data-announce data-connected="Live: this page updates itself.">
            <a href={at}>Reload this page</a> to see what has changed.
          </p>
          <p>Sandbox: the platform, its accounts and its bills are simulated.</p>
        </footer>
      </body>
    </html>
  );
}

function Told({ text, complaints = [], secret }: Notice) {
  return (
    <div class={`told ${complaints.length > 0 ? "bad" : ""}`} role="status">
      <p>{text}</p>
      {complaints.map((complaint) => (
        <p>{complaint}</p>
      ))}
      {secret !== undefined && (
        <p>
          <label for="told-secret">Shown only once</label>
          <input
            id="told-secret"
            class="secret"
            readOnly
            value={secret}
            autoComplete="off"
            spellcheck={false}
          />
        </p>
      )}
    </div>
  );
}

/** The error of a refused form, shown at the top of its page too, with a link to the field to correct. */
function NotDone({ form, field, message }: Attempt) {
  return (
    <div class="told bad" role="alert">
      <p>That did not work. {field === null ? message : <a href={`#${form}-${field}`}>{message}</a>}</p>
    </div>
  );
}
