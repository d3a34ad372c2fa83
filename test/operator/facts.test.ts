import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { ALARMS } from "../../src/metrics/metrics.ts";
import type { Fact } from "../../src/operator/facts/fact.ts";
import { ALARMS_WITHOUT_FACT, ALERTS_WITHOUT_FACT, FACTS } from "../../src/operator/facts/facts.ts";
import { ACTIONS } from "../../src/operator/pages/findings.tsx";
import { anchorOf } from "../../src/operator/runbook.ts";
import { listed, RUNBOOK } from "../../workshop/facts.ts";

// One table of what may be wrong: the runbook, the alerts and the alarms are held to it.

const facts = Object.entries(FACTS) as unknown as [id: string, fact: Fact<unknown>][];
const runbook = readFileSync(RUNBOOK, "utf8");
const headings = [...runbook.matchAll(/^#{2,3} (.+)$/gm)].map(([, heading]) => heading!);

interface Alert {
  alert: string;
  keep_firing_for?: string;
  labels: { severity: "page" | "ticket" };
  annotations: { summary: string; runbook_url: string };
}
const { groups } = parse(readFileSync("ops/alerts.yml", "utf8")) as { groups: [{ rules: Alert[] }] };
const alerts = groups[0].rules;
const known: string[] = [...alerts.map(({ alert }) => alert), ...ALARMS];

it.each(facts)("%s has a paragraph of the runbook, and buttons that there are", (_, fact) => {
  expect(headings).toContain(fact.runbook);
  for (const path of fact.buttons ?? []) expect(ACTIONS[path]?.label).toEqual(expect.any(String));
});

it("docs/operate.md lists the facts as they are; npx tsx workshop/facts.ts writes the list anew", () =>
  expect(runbook).toBe(listed(runbook)));

it.each(alerts.map((alert) => [alert.alert, alert] as const))(
  "%s begins as its fact does, and leads to the same paragraph, or has a reason for having none",
  (name, { annotations: { summary, runbook_url: link } }) => {
    const its = facts.filter(([, fact]) => fact.alerts?.includes(name));
    expect(its.length > 0).not.toBe(Object.hasOwn(ALERTS_WITHOUT_FACT, name));
    if (its.length === 0) return;
    // An alert for several states names the state, which is the fact's id.
    const isNamedByLabel = summary.includes("$labels.state");
    if (!isNamedByLabel) expect(its.map(([, { title }]) => title)).toContainEqual(beginning(summary));
    const anchors = its.map(([, fact]) => anchorOf(fact.runbook));
    expect([...anchors, name.toLowerCase()]).toContain(link.split("#")[1]);
    expect(runbook).toContain(name);
  },
);
const beginning = (summary: string) => ({
  asymmetricMatch: (title: unknown) => summary.startsWith(String(title)),
});

it.each(facts)(
  "%s has an alert or an alarm, or is a remark, or has a reason why no alert rings",
  (_, fact) => {
    const rings = [...(fact.alerts ?? []), ...(fact.alarms ?? [])].length > 0;
    const isQuiet = fact.urgency === "remark" || fact.noAlert !== undefined;
    expect(rings).not.toBe(isQuiet);
    // A reason names only what there is.
    const named = [...(fact.noAlert ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(named.filter((name) => !known.includes(name!))).toEqual([]);
  },
);

it("names no alert and no alarm that there is not", () => {
  const named = [
    ...facts.flatMap(([, fact]) => [...(fact.alerts ?? []), ...(fact.alarms ?? [])]),
    ...Object.keys(ALERTS_WITHOUT_FACT),
    ...Object.keys(ALARMS_WITHOUT_FACT),
  ];
  expect(named.filter((each) => !known.includes(each))).toEqual([]);
});

it.each(ALARMS)("the alarm %s is about a fact, or has a reason for being about none", (alarm) => {
  const its = facts.filter(([, fact]) => fact.alarms?.includes(alarm));
  expect(its.length > 0).not.toBe(Object.hasOwn(ALARMS_WITHOUT_FACT, alarm));
});

it("docs/operate.md names the alerts that wake somebody, and no other, where it says what cannot wait", () => {
  const [paragraph] = /^These alerts \(`severity: page`\)[^]*?\n\n/m.exec(runbook)!;
  const named = [...paragraph.matchAll(/`(Addon\w+)`/g)].map(([, name]) => name!);
  const wake = alerts.filter(({ labels }) => labels.severity === "page").map(({ alert }) => alert);
  expect(named.sort()).toEqual(wake.sort());
});

it("every alert outlasts the service's end until the alert of that end rings", () => {
  const own = ["AddonDown", "AddonMetricsMissing"];
  expect(alerts.filter(({ keep_firing_for: kept }) => kept === undefined).map(({ alert }) => alert)).toEqual(
    own,
  );
  expect(new Set(alerts.map(({ keep_firing_for: kept }) => kept))).toEqual(new Set(["5m", undefined]));
});
