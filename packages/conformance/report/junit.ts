import { type ComponentChildren, h, type VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import type { Verdict } from "../rule.ts";
import { groups } from "../rules/index.ts";
import { isStopped, outcomeOf, type Report, stopped, UNJUDGED } from "./report.ts";

/** The report of a run that came to no verdict, so that a CI server does not show an older one. */
export function junitOfFailure(message: string): string {
  const test = element("testcase", { name: "The service can be checked" }, element("error", { message }));
  return xml([suite("Conformance", [test])]);
}

/** The report for a CI server: a suite for each group, a case for each rule. Warnings are not failures. */
export function junitReport(run: Report): string {
  const suites = groups.map(({ title, rules }) => {
    const own = run.verdicts.filter(({ rule }) => rules.includes(rule));
    return own.length > 0 ? suite(title, own.map((verdict) => testOf(verdict, title))) : null; // prettier-ignore
  });
  return xml([...(isStopped(run) ? [unfinished(run)] : []), ...suites.filter((each) => each !== null)]);
}

function unfinished(run: Report): Suite {
  const error = element("error", { message: stopped(run) });
  return suite("Conformance", [element("testcase", { name: "Each rule is judged" }, error)]);
}

function testOf(verdict: Verdict, group: string): VNode {
  const { rule, reason, ms } = verdict;
  const outcome = outcomeOf(verdict);
  const unjudged = UNJUDGED[outcome];
  const advice = `${reason} ${rule.mend} (${rule.section})`;
  const parts = [
    outcome === "broken" && element("failure", { message: advice, type: rule.severity }),
    outcome === "checker_failed" && element("error", { message: reason ?? "", type: "checker" }),
    unjudged && outcome !== "checker_failed" && element("skipped"),
    outcome === "warning" && element("system-out", {}, advice),
    unjudged && element("system-out", {}, `${unjudged}: ${reason}`),
  ];
  const about = { name: `${rule.id} ${rule.title}`, classname: `conformance.${group}`, time: ms / 1000 };
  return element("testcase", about, ...parts);
}

interface Suite {
  tests: VNode;
  counts: Record<"tests" | "failures" | "errors" | "skipped", number>;
}

function suite(name: string, tests: readonly VNode[]): Suite {
  const count = (kind: string) =>
    tests.filter(({ props }) => [props.children].flat().some((child) => isElement(child, kind))).length;
  const counts = {
    tests: tests.length,
    failures: count("failure"),
    errors: count("error"),
    skipped: count("skipped"),
  };
  return { tests: element("testsuite", { name, ...counts }, ...tests), counts };
}

function isElement(child: ComponentChildren, kind: string): boolean {
  return typeof child === "object" && child !== null && "type" in child && child.type === kind;
}

function element(
  kind: string,
  members: Record<string, string | number> = {},
  ...children: ComponentChildren[]
): VNode {
  return h(kind, members, ...children);
}

function xml(suites: readonly Suite[]): string {
  const sum = (name: keyof Suite["counts"]) => suites.reduce((total, { counts }) => total + counts[name], 0);
  const counts = {
    tests: sum("tests"),
    failures: sum("failures"),
    errors: sum("errors"),
    skipped: sum("skipped"),
  };
  const text = renderToString(element("testsuites", counts, ...suites.map(({ tests }) => tests)));
  const allowed = text.toWellFormed().replace(NO_XML, "\u{fffd}").replaceAll("]]>", "]]&gt;");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${allowed}\n`;
}

/** What no XML document may contain, not even escaped. */
// eslint-disable-next-line no-control-regex
const NO_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
