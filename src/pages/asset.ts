import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RequestHandler } from "express";

/**
 * A file for the browser. Its name contains a hash of its content, so browsers may cache it for ever. A request with
 * the hash of another version, as happens during a rolling deployment, gets an answer that must be revalidated.
 */
export interface Asset {
  /** The path below the base of the pages that use it. */
  path: string;
  /** The path with the hash of the content as query `v`. */
  name: string;
  send: RequestHandler;
}

/** `whose`: whether shared caches may store the file too, or only the browser that was allowed to load it. */
export function asset(whose: "public" | "private", file: string, type: string, text: string): Asset {
  const path = `/assets/${file}`;
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  // One for all answers: a text would be copied for each, also for those that nobody reads.
  const bytes = Buffer.from(text);
  return {
    ...{ path, name: `${path}?v=${version}` },
    send({ query }, response) {
      const kept = query["v"] === version ? "max-age=31536000, immutable" : "no-cache";
      response.set({
        "Content-Type": `${type}; charset=utf-8`,
        "Cache-Control": `${whose}, ${kept}`,
      });
      response.send(bytes);
    },
  };
}

/** Pico alone styles plain HTML well; these few rules cover what our pages have and articles do not. */
const OURS = `
body > header { padding-bottom: 0; color: var(--pico-muted-color); }
body > main { max-width: 44rem; margin-inline: 0; padding-top: 1rem; }
@media (min-width: 44rem) { body > header, body > main { max-width: 44rem; margin-inline: auto; } }
main form { display: inline-block; margin-right: 1rem; }
main form button { width: auto; }
main dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.5rem 1.5rem; margin-bottom: 2rem; }
main dt { color: var(--pico-muted-color); }
main dd { margin: 0; overflow-wrap: anywhere; }
main dd ul { margin: 0; padding: 0; }
main dd li { list-style: none; }
@media (max-width: 44rem) { main table { display: block; overflow-x: auto; } }
@media (max-width: 30rem) { main dl { grid-template-columns: 1fr; gap: 0; } main dd { margin-bottom: 0.75rem; } }
`;

const pico = readFileSync(new URL(import.meta.resolve("@picocss/pico/css/pico.classless.min.css")), "utf8");

/** The stylesheet of all pages. */
export const stylesheet = asset("public", "style.css", "text/css", pico + OURS);
