import { readFileSync } from "node:fs";
import { asset } from "./asset.ts";

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

export const {
  path: STYLESHEET_PATH,
  name: STYLESHEET,
  send: sendStylesheet,
} = asset("public", "style.css", "text/css", pico + OURS);
