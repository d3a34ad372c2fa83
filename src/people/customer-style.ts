/** The look of the customers' pages, which have the class `customer`: a bar, cards, and what is wide inside its own bounds. */
export const CUSTOMER = `
.customer { --pico-font-size: 100%; --pico-line-height: 1.5; --pico-spacing: 1rem;
  --pico-form-element-spacing-vertical: 0.5rem; --pico-form-element-spacing-horizontal: 0.75rem; --pico-outline-width: 3px;
  body { min-height: 100vh; display: flex; flex-direction: column; }
  .skip { position: absolute; inset: 0.5rem auto auto -99rem; z-index: 2; padding: 0.5rem 1rem; background: var(--pico-card-background-color); }
  .skip:focus { left: 0.5rem; }
  body > header { margin: 0; padding-block: 0; border-top: 4px solid var(--pico-primary-background);
    border-bottom: 1px solid var(--line); background: var(--pico-card-background-color); color: var(--pico-color); }
  body > header { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; align-items: center; }
  body > :is(header, main, footer, aside) { width: 100%; max-width: none; padding-inline: max(1.25rem, calc((100% - 60rem) / 2)); }
  .brand { display: flex; align-items: center; gap: 0.7rem; min-width: 0; padding-block: 0.7rem; font-size: 1.05rem; font-weight: 650;
    overflow-wrap: anywhere; img { height: 2rem; width: auto; max-width: 10rem; object-fit: contain; } }
  .way-back { font-size: 0.925rem; }
  .signed-on { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: center; margin: 0 0 0 auto; min-width: 0; padding-block: 0.4rem;
    font-size: 0.875rem; color: var(--pico-muted-color); span { min-width: 0; overflow-wrap: anywhere; }
    button { width: auto; margin: 0; padding: 0.25rem 0.75rem; font-size: inherit; } }
  body > aside { display: block; margin: 0; padding-block: 0.75rem; border-bottom: 1px solid var(--line); background: var(--gone-soft);
    p { margin: 0; overflow-wrap: anywhere; }
    small { display: block; }
    .state { margin-right: 0.4rem; padding: 0; background: none; }
    &.warning { background: var(--busy-soft); border-color: var(--busy); strong { color: var(--busy); } }
    &.outage { background: var(--bad-soft); border-color: var(--bad); strong { color: var(--bad); } }
    &.view { --pico-color: #fff; background: #4b3b8f; border: 0; a { color: #fff; text-decoration-color: currentcolor; }
      .state { padding: 0.1rem 0.6rem; border: 1px solid; color: #fff; } } }
  body > main { flex: 1; padding-block: 2rem 1rem; overflow-wrap: anywhere; }
  main:focus { outline: none; }
  main h1 { margin-bottom: 1.25rem; font-size: 1.75rem; line-height: 1.2; }
  main h2 { margin-bottom: 0.75rem; font-size: 1.05rem; }
  main h3 { margin-bottom: 0.4rem; font-size: 0.95rem; }
  :is(a, summary, pre, .scroll):focus-visible { outline: 3px solid var(--pico-primary-focus); outline-offset: 2px; border-radius: 0.25rem; box-shadow: none; }
  :is(.card, .content:not(:has(.card))) { min-width: 0; margin-bottom: 1.25rem; padding: 1.25rem 1.4rem; border: 1px solid var(--line); border-radius: 0.75rem;
    background: var(--pico-card-background-color); > :last-child { margin-bottom: 0; } }
  .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr)); gap: 1.25rem; margin-bottom: 1.25rem;
    .card { margin: 0; } .card.whole { grid-column: 1 / -1; } }
  .plan .chosen { margin-bottom: 0.25rem; font-size: 1.35rem; font-weight: 650; color: var(--pico-h1-color); .state { margin-left: 0.5rem; vertical-align: 0.25em; } }
  .card .foot { margin: 1rem 0 0; padding-top: 0.9rem; border-top: 1px solid var(--line); font-size: 0.925rem; }
  main dl:has(> div) { display: block; margin: 0; > div { display: flex; flex-wrap: wrap; gap: 0.1rem 1rem; justify-content: space-between; align-items: baseline;
    padding-block: 0.45rem; border-bottom: 1px solid var(--line); &:last-child { border-bottom: 0; padding-bottom: 0; } } }
  main dt { flex: 0 1 auto; max-width: 100%; font-weight: 400; }
  main dd { flex: 0 1 auto; max-width: 100%; margin: 0; text-align: right; font-variant-numeric: tabular-nums; &:has(code) { text-align: left; } }
  .plan dd { font-weight: 600; }
  main small { color: var(--pico-muted-color); }
  main form { display: block; margin: 0; }
  main form + form { margin-top: 1rem; }
  main form :is(input, select, textarea) { margin-bottom: 0.75rem; }
  main label { font-size: 0.925rem; font-weight: 600; }
  main :is(button, [role="button"]) { width: auto; margin: 0; padding: 0.5rem 1.1rem; font-size: 0.95rem; }
  fieldset { margin: 0; }
  .question { max-width: 40rem; }
  .row { display: flex; flex-wrap: wrap; gap: 0.75rem 1.25rem; align-items: center; margin-top: 1.25rem; }
  button.secondary, .signed-on button { --pico-background-color: transparent; --pico-border-color: currentColor; --pico-color: var(--pico-primary); }
  button.secondary:hover, .signed-on button:hover { --pico-color: var(--pico-primary-hover); text-decoration: underline; }
  :is(button.danger, form.destroys button) { --pico-background-color: var(--bad-soft); --pico-border-color: var(--bad); --pico-color: var(--bad); }
  button.destroy { --pico-background-color: #ab2323; --pico-border-color: #ab2323; --pico-color: #fff; }
  button.destroy:hover { --pico-background-color: #8c1a1a; --pico-border-color: #8c1a1a; --pico-color: #fff; }
  :is(button.danger, form.destroys button):hover { --pico-border-color: currentColor; text-decoration: underline; }
  .state { display: inline-block; padding: 0.1rem 0.6rem; border-radius: 1rem; background: var(--gone-soft); color: var(--pico-muted-color);
    font-size: 0.8rem; font-weight: 600; line-height: 1.5;
    &.good { background: var(--good-soft); color: var(--good); } &.busy { background: var(--busy-soft); color: var(--busy); }
    &.bad { background: var(--bad-soft); color: var(--bad); } }
  .told { margin-bottom: 1.25rem; padding: 0.8rem 1rem; border-left: 4px solid var(--good); border-radius: 0.25rem 0.5rem 0.5rem 0.25rem; background: var(--good-soft);
    &.busy { border-color: var(--busy); background: var(--busy-soft); } &.bad { border-color: var(--bad); background: var(--bad-soft); }
    > :last-child { margin-bottom: 0; } }
  .usage { margin-bottom: 1rem; p { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; margin-bottom: 0.3rem; } span { color: var(--pico-muted-color); }
    progress { height: 0.6rem; margin: 0; } &.busy progress { --pico-progress-color: var(--busy); } &.bad progress { --pico-progress-color: var(--bad); } }
  .scroll { overflow-x: auto; overflow-wrap: normal; table { display: table; margin: 0; } td { overflow-wrap: normal; } }
  .scroll :is(td, th):last-child { padding-right: 0.25rem; }
  tbody th { font-weight: 400; }
  .bars { margin: 0; svg { display: block; width: 100%; height: auto; }
    rect { fill: var(--pico-primary); } rect.back { fill: transparent; } g:hover rect.back { fill: var(--gone-soft); }
    line { stroke: var(--line); } text { fill: var(--pico-muted-color); font-size: 12px; font-variant-numeric: tabular-nums; }
    details { margin: 0.5rem 0 0; padding: 0; border: 0; font-size: 0.925rem; } .scroll { max-height: 20rem; overflow-y: auto; } }
  .spark { display: block; width: 100%; max-width: 15rem; height: auto; margin: 0 0 0.5rem;
    polyline { fill: none; stroke: var(--pico-primary); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; } circle { fill: var(--pico-primary); } }
  nav.pages { display: block; background: var(--pico-card-background-color); border-bottom: 1px solid var(--line);
    padding-inline: max(1.25rem, calc((100% - 60rem) / 2)); overflow-x: auto;
    ul { display: flex; gap: 0.25rem 1.5rem; margin: 0; padding: 0; } li { padding: 0; margin: 0; list-style: none; white-space: nowrap; }
    a { display: inline-block; margin: 0; padding: 0.55rem 0; border-bottom: 3px solid transparent; border-radius: 0; text-decoration: none; font-size: 0.95rem; }
    a:hover { text-decoration: underline; }
    a[aria-current] { color: var(--pico-color); border-color: var(--pico-primary); text-decoration: none; font-weight: 600; } }
  main table { margin-bottom: 1rem; font-size: 0.925rem; }
  th, td { padding: 0.45rem 0.9rem 0.45rem 0; background: none; vertical-align: top; }
  td, th { min-width: 4.5rem; }
  .number { min-width: 0; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
  code { padding: 0.1em 0.35em; font-size: 0.875em; overflow-wrap: anywhere; }
  pre { padding: 0.75rem 0.9rem; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--pico-code-background-color); code { padding: 0; } }
  main img { max-width: 100%; height: auto; }
  body > footer { padding-block: 0.5rem 2rem; color: var(--pico-muted-color); font-size: 0.85rem; overflow-wrap: anywhere;
    nav { display: block; } nav a { display: inline-block; margin: 0 1.25rem 0 0; padding: 0.25rem 0; } p { margin: 0; } }
}
@media (max-width: 30rem) { .customer {
  main dd { text-align: left; margin: 0; }
  body > main { padding-top: 1.25rem; }
  .signed-on { flex-wrap: nowrap; width: 100%; margin: 0; span { flex: 1; } }
  main form > button { width: 100%; }
  .bars text { font-size: 20px; }
  th, td { min-width: 3.5rem; padding-right: 0.6rem; }
  .number { min-width: 0; }
} }
@media (forced-colors: active) { .customer :is(.card, .told, .state) { border: 1px solid; } .customer :is(.bars rect:not(.back), .spark circle) { fill: CanvasText; } .customer .spark polyline { stroke: CanvasText; } }
`;
