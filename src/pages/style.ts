import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { Request, Response } from "express";
import { PALETTE } from "./palette.ts";

/** The build puts it beside this file; from the sources, the package's own is read. */
const BUILT_IN = new URL("pico.css", import.meta.url);
const pico = readFileSync(
  existsSync(BUILT_IN) ? BUILT_IN : new URL(import.meta.resolve("@picocss/pico/css/pico.classless.min.css")),
  "utf8",
);

/** Pico alone styles plain HTML well; these few rules cover what our pages have and articles do not. */
const OURS = `
:root { --well: #1b7f4d; --wait: #8a5a00; --bad: #b3261e; --bar: #3b6ea8; --line: var(--pico-muted-border-color); }
@media (prefers-color-scheme: dark) { :root { --well: #6ed3a0; --wait: #f0b95a; --bad: #ff9d94; --bar: #7fb0e8; } }
body > header { padding-bottom: 0; color: var(--pico-muted-color); }
body > main { max-width: 44rem; margin-inline: 0; padding-top: 1rem; }
@media (min-width: 44rem) { body > header, body > main { max-width: 44rem; margin-inline: auto; } }
:is(strong, small, code, a, span) { unicode-bidi: isolate; }
main form { display: inline-block; margin-right: 1rem; }
main form button { width: auto; }
main dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.5rem 1.5rem; margin-bottom: 2rem; }
main dl > div { display: contents; }
main dt { color: var(--pico-muted-color); }
main dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 44rem) { main table { display: block; overflow-x: auto; } }
@media (max-width: 30rem) { main dl { grid-template-columns: 1fr; gap: 0; } main dd { margin-bottom: 0.75rem; } }
`;

/** For pages with a frame of their own: wider columns for tables, marks for good and bad states, and plots. */
const WIDE = `
.wide { --pico-font-size: 100%; --pico-line-height: 1.5;
  body > header, body > main, body > footer { max-width: 72rem; margin-inline: auto; padding-inline: 1rem; }
  body > header { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 2rem; padding-top: 1rem; border-bottom: 1px solid var(--line); }
  body > header nav { justify-content: flex-start; --pico-nav-element-spacing-horizontal: 0; }
  body > header nav ul { flex-wrap: wrap; margin: 0; }
  body > header nav li { padding: 0.5rem 1.25rem 0.5rem 0; }
  body > header nav a { margin: 0; padding: 0.25rem 0; }
  nav a[aria-current] { color: var(--pico-color); text-decoration: underline; text-underline-offset: 0.4em; text-decoration-thickness: 2px; }
  form.signed-in { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.75rem; min-width: 0; margin: 0 0 0 auto; font-size: 0.9rem; }
  form.signed-in span { min-width: 0; overflow-wrap: anywhere; }
  form.signed-in button { width: auto; margin: 0; padding: 0.2rem 0.7rem; font-size: inherit; }
  body > main { padding-block: 2rem 4rem; overflow-wrap: break-word; }
  body > footer { padding-block: 0 1rem; color: var(--pico-muted-color); font-size: 0.8rem; }
  main h1 { margin-bottom: 1.5rem; overflow-wrap: anywhere; }
  main section { margin-bottom: 0; }
  main h2 { font-size: 1.15rem; margin: 2rem 0 0.75rem; }
  main dl { grid-template-columns: max-content minmax(0, 1fr); gap: 0.4rem 1.5rem; margin-bottom: 1rem; }
  main dd { margin-bottom: 0; white-space: pre-line; }
  code { overflow-wrap: anywhere; background: none; padding: 0; color: inherit; }
  main small { color: var(--pico-muted-color); }
  .pair { display: grid; gap: 0 3rem; align-items: start; }
  article p { margin-bottom: 0.35rem; }
  .state { white-space: nowrap; font-weight: 600; }
  .state.well { color: var(--well); &::before { content: "✓ "; } }
  .state.wait { color: var(--wait); &::before { content: "… "; } }
  .state.bad { color: var(--bad); &::before { content: "! "; } }
  .state.gone { color: var(--pico-muted-color); font-weight: 400; &::before { content: "– "; } }
  table { margin-bottom: 1rem; }
  th, td { padding: 0.5rem 1rem 0.5rem 0; vertical-align: top; background: none; }
  td, tbody th { min-width: 6rem; overflow-wrap: anywhere; }
  :is(td, tbody th) small { display: block; }
  main form.search { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; margin: 0 0 1.5rem; }
  form.search label { margin: 0; flex: 1 1 9rem; &.long { flex-basis: 17rem; flex-grow: 2; } }
  form.search :is(input, select, button) { margin-bottom: 0; }
  main form.ask { display: block; margin: 1.5rem 0 0; max-width: 40rem; }
  form.ask .row { display: flex; flex-wrap: wrap; gap: 0.75rem 1.5rem; align-items: center; margin-top: 1.5rem; }
  form.ask .row > * { margin: 0; }
  main form:is(.ask, .search) button { width: auto; padding-inline: 2rem; }
  .buttons { padding: 0; display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 0 0 1rem; li { list-style: none; margin: 0; } }
  .buttons a { padding: 0.4rem 0.9rem; }
  :is(.buttons a, form.signed-in button) { background: none; color: var(--pico-primary); border: 1px solid currentColor; box-shadow: none;
    &:hover { color: var(--pico-primary-hover); text-decoration: underline; }
    &:focus-visible { outline: 2px solid var(--pico-primary); outline-offset: 2px; } }
  .apart { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 2rem; }
  .buttons .danger a, button.danger { color: var(--bad); border-color: var(--bad); }
  button.danger { background: none; &:hover { text-decoration: underline; } }
  .age { margin: -1rem 0 0; color: var(--pico-muted-color); font-size: 0.85rem; }
  [data-age]:not(:empty)::before { content: " · "; }
  .glance { margin: 0.5rem 0 0; display: flex; flex-wrap: wrap; gap: 0 1rem; }
  .old { color: var(--bad); font-weight: 600; }
  article.fact { margin: 0 0 1rem; padding: 0.75rem 1rem; border-left: 4px solid var(--wait); border-radius: 4px;
    :is(h2, h3) { font-size: 1rem; margin: 0 0 0.25rem; display: flex; flex-wrap: wrap; gap: 0 0.5rem;
      small { font-weight: 400; margin-left: auto; } }
    .buttons { margin: 0.5rem 0; }
    .more { display: flex; flex-wrap: wrap; gap: 0 1.5rem; margin: 0; font-size: 0.9rem; } }
  article.urgent { border-color: var(--bad); }
  article.remark { border-color: var(--line); }
  article.caused { margin-left: 1.5rem; }
  .runbook { overflow-wrap: anywhere; :is(h2, h3) { scroll-margin-top: 1rem; margin-top: 2rem; } table { font-size: 0.85rem; }
    :target { color: var(--pico-primary); } }
  .whom { padding: 0; margin: 0 0 0.35rem; display: flex; flex-wrap: wrap; gap: 0 1.25rem;
    li { list-style: none; margin: 0; overflow-wrap: anywhere; } }
  .figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.5rem, 1fr)); gap: 0.75rem; margin: 0 0 1rem;
    div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
    dt { font-size: 0.8rem; line-height: 1.25; }
    dd { font-size: 1.6rem; line-height: 1.2; font-weight: 600; }
    .bad dd { color: var(--bad); } }
  table.numbers { font-variant-numeric: tabular-nums;
    caption { text-align: left; font-weight: 600; padding-bottom: 0.25rem; }
    :is(th, td) { min-width: 0; padding: 0.25rem 0.5rem 0.25rem 0; }
    :is(td, thead th:not(:first-child)) { text-align: right; }
    .none { color: var(--pico-muted-color); } }
  .small { font-size: 0.85rem; }
  .filters { padding: 0; display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 0 0 0.75rem;
    li { list-style: none; margin: 0; padding: 0.15rem 0.7rem; border: 1px solid var(--line); border-radius: 1rem; font-size: 0.9rem; overflow-wrap: anywhere; }
    a { padding: 0.2rem; text-decoration: none; } }
  .unseen { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; white-space: nowrap; }
  .pager { display: flex; gap: 1.5rem; }
  .plot { margin: 0 0 1rem; figcaption { padding: 0; margin-bottom: 0.5rem; font-weight: 600; }
    rect { fill: var(--bar); } rect.bad { fill: var(--bad); } line { stroke: var(--line); }
    text { fill: var(--pico-muted-color); font-size: 11px; } }
  progress { margin: 0.5rem 0 1rem; }
}
@media (min-width: 60rem) { .wide .pair { grid-template-columns: 1fr 1fr; } }
@media (max-width: 56rem) { .wide table:not(.numbers) {
  display: block;
  thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  tbody { display: block; }
  tr { display: block; padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
  td, tbody th { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0.5rem; padding: 0.1rem 0; border: 0; min-width: 0; }
  [data-label]::before { content: attr(data-label); color: var(--pico-muted-color); font-weight: 400; }
} }
@media (max-width: 30rem) { .wide {
  body > header nav { font-size: 0.9rem; }
  body > header nav li { padding-right: 0.75rem; &:last-child { padding-right: 0; } }
  form.signed-in { margin: 0 0 0.5rem; }
  .plot text { font-size: 15px; }
  .whom code { display: none; }
  article.fact { padding: 0.5rem 0.75rem; font-size: 0.9rem; margin-bottom: 0.75rem; p { margin-bottom: 0.2rem; } }
  .figures { grid-template-columns: repeat(4, 1fr); gap: 0.5rem; dt { font-size: 0.7rem; } dd { font-size: 1.25rem; } }
  table.numbers { display: table; font-size: 0.8rem; }
} }
`;

/**
 * A stylesheet at `path`. Its name contains a hash of its content, so browsers may cache it for ever. A request with the
 * hash of another version, as happens during a rolling deployment, gets an answer that must be revalidated.
 */
export function stylesheetOf(path: string, text: string) {
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const bytes = Buffer.from(text);
  function send({ query }: Request, response: Response): void {
    const kept = query["v"] === version ? "max-age=31536000, immutable" : "no-cache";
    response
      .set({ "Content-Type": "text/css; charset=utf-8", "Cache-Control": `public, ${kept}` })
      .send(bytes);
  }
  return { path, name: `${path}?v=${version}`, send };
}

/** Of all pages. */
export const stylesheet = stylesheetOf("/assets/style.css", pico + PALETTE + OURS + WIDE);
