import { asset } from "../../pages/asset.ts";

/** The header that tells a request of this script from one that opens the page. */
export const LOOKS_AGAIN = "x-looks-again";

/**
 * Requests the page again at an interval and replaces the parts that have `data-live` (milliseconds). Without the
 * script each page stays as it was loaded. A part in use is left alone: it has the keyboard focus, an open `details`
 * element or a text selection. A page in the background requests nothing, and after a failure the interval grows. On a
 * 401 or 403 the page reloads, so the operator sees that access has ended.
 */
const SCRIPT = `"use strict";
(() => {
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const marked = getSelection();
  const isMarked = (part) => !marked.isCollapsed && marked.containsNode(part, true);
  const isInUse = (part) =>
    part.contains(document.activeElement) || part.querySelector("details[open]") || isMarked(part);
  const pause = () => Math.min(...parts().map((part) => Number(part.dataset.live)));
  let slower = 1;

  async function look() {
    if (!document.hidden) {
      try {
        const answer = await fetch(location.href, { headers: { accept: "text/html", "${LOOKS_AGAIN}": "1" } });
        if (answer.status === 401 || answer.status === 403) return location.reload();
        if (!answer.ok) throw new Error(String(answer.status));
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const part of parts()) {
          const next = fresh.getElementById(part.id);
          if (next && !isInUse(part) && next.outerHTML !== part.outerHTML) part.replaceWith(next);
        }
        slower = 1;
      } catch {
        slower = Math.min(slower * 2, 16);
      }
    }
    if (parts().length > 0) setTimeout(look, pause() * slower);
  }
  if (parts().length > 0) setTimeout(look, pause());
})();
`;

export const liveScript = asset("private", "live.js", "text/javascript", SCRIPT);

/** Added to the stylesheet of all pages: wider columns for tables, marks for good and bad states, and plots. */
const CSS = `
:root { --well: #1b7f4d; --wait: #8a5a00; --bad: #b3261e; --bar: #3b6ea8; --line: var(--pico-muted-border-color); }
@media (prefers-color-scheme: dark) { :root { --well: #6ed3a0; --wait: #f0b95a; --bad: #ff9d94; --bar: #7fb0e8; } }
:root { --pico-font-size: 100%; --pico-line-height: 1.5; }
body > header, body > main, body > footer { max-width: 72rem; margin-inline: auto; padding-inline: 1rem; }
body > header { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 2rem; padding-top: 1rem; border-bottom: 1px solid var(--line); }
body > main { padding-block: 2rem 4rem; overflow-wrap: break-word; }
body > footer { padding-block: 0 1rem; color: var(--pico-muted-color); font-size: 0.8rem; }
body > header nav { justify-content: flex-start; --pico-nav-element-spacing-horizontal: 0; }
body > header nav ul { flex-wrap: wrap; margin: 0; }
body > header nav li { padding: 0.5rem 1.25rem 0.5rem 0; }
body > header nav a { margin: 0; padding: 0.25rem 0; }
@media (max-width: 30rem) { body > header nav { font-size: 0.9rem; } body > header nav li { padding-right: 0.75rem; } body > header nav li:last-child { padding-right: 0; } }
body > header form.signed-in { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.75rem; min-width: 0; margin: 0 0 0 auto; font-size: 0.9rem; }
form.signed-in span { min-width: 0; overflow-wrap: anywhere; }
form.signed-in button { width: auto; margin: 0; padding: 0.2rem 0.7rem; font-size: inherit; background: none; color: var(--pico-primary); border: 1px solid currentColor; box-shadow: none; }
@media (max-width: 30rem) { body > header form.signed-in { margin: 0 0 0.5rem; } }
nav a[aria-current] { color: var(--pico-color); text-decoration: underline; text-underline-offset: 0.4em; text-decoration-thickness: 2px; }
main h1 { margin-bottom: 1.5rem; overflow-wrap: anywhere; }
main section { margin-bottom: 0; }
main h2 { font-size: 1.15rem; margin: 2rem 0 0.75rem; }
main h1 + .columns > :first-child h2 { margin-top: 0; }
@media (min-width: 60rem) { main h1 + .columns h2 { margin-top: 0; } }
time .quiet { white-space: nowrap; }
main dl { margin-bottom: 1rem; grid-template-columns: max-content minmax(0, 1fr); gap: 0.4rem 1.5rem; }
main dd { margin-bottom: 0; }
:is(main h3, .cards h2) { font-size: 1rem; margin: 0 0 0.25rem; }
.cards h2 .state { margin-left: 0.5rem; }
.cards p .state { margin-right: 0.25rem; }
code { overflow-wrap: anywhere; background: none; padding: 0; color: inherit; }
.quiet, main small { color: var(--pico-muted-color); }
.columns { display: grid; gap: 0 3rem; }
@media (min-width: 60rem) { .columns { grid-template-columns: minmax(0, 2fr) minmax(0, 1fr); } }
.pair { display: grid; gap: 0 3rem; }
@media (min-width: 60rem) { .pair { grid-template-columns: 1fr 1fr; } }
.cards { list-style: none; padding: 0; margin: 0; display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.75rem; }
.cards > li { list-style: none; margin: 0; padding: 0.9rem 1.1rem; border: 1px solid var(--line); border-left: 4px solid var(--wait); border-radius: var(--pico-border-radius); }
.cards > li.bad { border-left-color: var(--bad); }
.cards > li.well { border-left-color: var(--well); }
.cards p { margin: 0 0 0.35rem; }
.cards p:last-child { margin: 0; }
.cards + .quiet { margin-top: 0.75rem; }
.state { white-space: nowrap; font-weight: 600; }
.state::before { content: "● "; }
.state.well { color: var(--well); } .state.well::before { content: "✓ "; }
.state.wait { color: var(--wait); } .state.wait::before { content: "… "; }
.state.bad { color: var(--bad); } .state.bad::before { content: "! "; }
.state.gone { color: var(--pico-muted-color); font-weight: 400; } .state.gone::before { content: "– "; }
table { margin-bottom: 1rem; }
th, td { padding: 0.5rem 1rem 0.5rem 0; vertical-align: top; background: none; overflow-wrap: break-word; }
td, tbody th { min-width: 6rem; overflow-wrap: anywhere; }
:is(td, tbody th) small { display: block; }
td small.beside { display: inline; }
@media (max-width: 56rem) {
  table.stacked thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  table.stacked, table.stacked tbody { display: block; }
  table.stacked tr { display: block; padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
  table.stacked td, table.stacked th { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0.5rem; padding: 0.1rem 0; border: 0; }
  table.stacked :is(td, tbody th) { min-width: 0; }
  table.stacked [data-label]::before { content: attr(data-label); color: var(--pico-muted-color); font-weight: 400; }
}
main form.search { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; margin: 0 0 1.5rem; }
main form.search label { margin: 0; flex: 1 1 12rem; }
main form.search label:first-child { flex-grow: 3; }
main form.search :is(input, select, button) { margin-bottom: 0; border-radius: var(--pico-border-radius); }
main form.ask { display: block; margin: 1.5rem 0 0; max-width: 40rem; }
main form.ask .row { display: flex; flex-wrap: wrap; gap: 0.75rem 1.5rem; align-items: center; margin-top: 1.5rem; }
main form.ask .row > * { margin: 0; }
main form.search [type="search"] { --pico-border-radius: 0.25rem; border-radius: 0.25rem; }
main form:is(.ask, .search) button { width: auto; padding-inline: 2rem; }
fieldset label { display: flex; gap: 0.6rem; align-items: baseline; }
.actions { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 0 0 1rem; }
.actions li { list-style: none; margin: 0; }
.actions a[role="button"] { padding: 0.4rem 0.9rem; background: none; color: var(--pico-primary); border: 1px solid currentColor; box-shadow: none; }
.actions a[role="button"]:hover, form.signed-in button:hover { color: var(--pico-primary-hover); text-decoration: underline; }
.actions a[role="button"]:focus-visible, form.signed-in button:focus-visible { outline: 2px solid var(--pico-primary); outline-offset: 2px; }
ol.timeline { list-style: none; padding: 0 0 0 1rem; margin: 0; border-left: 2px solid var(--line); }
ol.timeline li { list-style: none; margin: 0 0 0.9rem; position: relative; }
ol.timeline li::before { content: ""; position: absolute; left: calc(-1rem - 6px); top: 0.45em; width: 10px; height: 10px; border-radius: 50%; background: var(--bar); }
ol.timeline time { color: var(--pico-muted-color); font-size: 0.9em; display: block; }
figure.plot { margin: 0 0 1rem; }
figure.plot svg { width: 100%; height: auto; display: block; }
figure.plot figcaption { color: var(--pico-color); padding: 0; margin-bottom: 0.5rem; font-weight: 600; }
figure.plot .bar { fill: var(--bar); } figure.plot .bar.bad { fill: var(--bad); }
figure.plot .rule { stroke: var(--line); stroke-width: 1; }
figure.plot text { fill: var(--pico-muted-color); font-size: 11px; font-family: inherit; }
@media (max-width: 30rem) { figure.plot text { font-size: 15px; } figure.plot text.minor { display: none; } }
figure.plot details { margin: 0.5rem 0 0; font-size: 0.9em; }
progress { margin: 0.5rem 0 1rem; }
`;

export const stylesheet = asset("private", "operator.css", "text/css", CSS);
