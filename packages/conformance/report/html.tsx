import type { ComponentChildren, VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import type { Verdict } from "../rule.ts";
import { groups } from "../rules/index.ts";
import {
  countOf,
  howToJudgeMore,
  isFit,
  isStopped,
  type Outcome,
  outcomeOf,
  type Report,
  stopped,
} from "./report.ts";

/** How each outcome is called, and its mark. */
const WORDS: Record<Outcome, [mark: string, word: string]> = {
  broken: ["✗", "broken"],
  warning: ["!", "should be better"],
  checker_failed: ["?", "the checker failed"],
  passed: ["✓", "passed"],
  skipped: ["–", "skipped"],
  not_applicable: ["–", "not applicable"],
};

/** The report as one page that needs no other file and no script. */
export function htmlReport(report: Report, at: Date): string {
  const { verdicts } = report;
  const counts = (Object.keys(WORDS) as Outcome[])
    .map((outcome) => ({ outcome, count: countOf(report, outcome) }))
    .filter(({ count }) => count > 0);
  const more = howToJudgeMore(report);
  return page(
    <>
      <h1>{isFit(report) ? "Every must-rule that could be judged holds" : "Not fit for the platform yet"}</h1>
      {isStopped(report) && <p>{stopped(report)}</p>}
      <p>
        {report.url}, {at.toISOString().slice(0, 16).replace("T", " ")} UTC, {Math.round(report.ms / 1000)} s
      </p>
      <ul class="counts">
        {counts.map(({ outcome, count }) => (
          <li class={outcome}>
            <b>{count}</b> {WORDS[outcome][1]}
          </li>
        ))}
      </ul>
      <Faults verdicts={verdicts} />
      {more !== null && <p>{more}</p>}
      {report.left.length > 0 && (
        <p>Left at the service, which did not deprovision it: {report.left.join(", ")}</p>
      )}
      {groups.map(({ title, rules }) => {
        const own = verdicts.filter(({ rule }) => rules.includes(rule));
        return own.length === 0 ? null : (
          <section>
            <h2>{title}</h2>
            {own.map((verdict) => (
              <Row verdict={verdict} />
            ))}
          </section>
        );
      })}
    </>,
  );
}

/** The page of a run that came to no verdict. */
export function htmlOfFailure(message: string): string {
  return page(
    <>
      <h1>The service could not be checked</h1>
      <p>{message}</p>
    </>,
  );
}

/** Links to what is broken, or should be better. */
function Faults({ verdicts }: { verdicts: readonly Verdict[] }): VNode | null {
  const faults = verdicts.filter(({ status }) => status === "failed");
  if (faults.length === 0) return null;
  return (
    <ul>
      {faults.map(({ rule }) => (
        <li>
          <a href={`#${rule.id}`}>{rule.id}</a> {rule.title}
        </li>
      ))}
    </ul>
  );
}

function Row({ verdict }: { verdict: Verdict }): VNode {
  const { rule, reason } = verdict;
  const outcome = outcomeOf(verdict);
  const isFault = outcome === "broken" || outcome === "warning";
  return (
    <article class={outcome} id={rule.id}>
      <h3>
        <span aria-label={WORDS[outcome][1]}>{WORDS[outcome][0]}</span> <code>{rule.id}</code> {rule.title}
        {rule.severity === "should" && " (should)"}
      </h3>
      {reason !== null && <p>{reason}</p>}
      {isFault && <p class="cure">{rule.mend}</p>}
      {isFault && <p class="source">Source: {rule.section}</p>}
    </article>
  );
}

const STYLE = `
:root { color-scheme: light dark; --red: light-dark(#a4001d, #ff8a80); --amber: light-dark(#7a4b00, #ffcc66);
  --green: light-dark(#00632b, #7ddc9a); --dim: light-dark(#595f69, #a2a9b4); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; font-weight: 400; margin: 0; }
article { margin: .5rem 0; overflow-wrap: anywhere; } article p { margin: .15rem 0 .15rem 1.5rem; }
.counts { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
.broken h3, .counts .broken { color: var(--red); font-weight: 600; } .warning h3, .checker_failed h3 { color: var(--amber); }
.passed h3 span { color: var(--green); } .skipped, .not_applicable, .source { color: var(--dim); }
.cure::before { content: "→ "; }
`;

function page(content: ComponentChildren): string {
  const html = renderToString(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Conformance report</title>
        <style>{STYLE}</style>
      </head>
      <body>
        <main>{content}</main>
      </body>
    </html>,
  );
  return `<!doctype html>\n${html}\n`;
}
