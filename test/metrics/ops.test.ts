import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";
import type { Extensions } from "../../src/extend/contract.ts";
import { ALARMS } from "../../src/metrics/metrics.ts";
import type { YourService } from "../../src/resources/contract.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aVendor } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";
import { operator, PASSWORD } from "./operator.ts";

// What ops/ asks of /metrics, held to what a service answers that has done each kind of work once.

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: Record<"summary" | "description" | "runbook_url" | "dashboard_url", string>;
}
const [{ rules: alerts }] = (parse(read("ops/alerts.yml")) as { groups: [{ rules: Alert[] }] }).groups;

interface Panel {
  title: string;
  type: string;
  targets?: { expr: string; legendFormat: string }[];
}
const dashboard = JSON.parse(read("ops/dashboard.json")) as { uid: string; panels: Panel[] };
const panels = dashboard.panels.filter(({ type }) => type !== "row");

let text: string;
/** The values of each label of each sample that a scrape shows. */
let samples: Map<string, Map<string, Set<string>>>;
/** The names of the metrics that have a sample. */
let names: Set<string>;
const jobs = [{ name: "meter", at: "0 3 * * *", run: async () => undefined }];
const vendor: YourService & Extensions = { ...aVendor(), jobs };
const life = opened(() =>
  aLifecycle({ environment: { OPERATOR_PASSWORD: PASSWORD, PROCESSES_EXPECTED: "1" }, parts: { vendor } }),
);
beforeAll(async () => {
  const { oauth_grant: _, ...withoutGrant } = aProvisionRequest();
  await life.platform.provision(withoutGrant);
  await life.platform.provision(withoutGrant, { headers: { authorization: null } });
  await life.settled("dedicated");
  const { addon } = await life.control.install({ plan: "basic" });
  await life.control.changePlan(addon.id, "premium");
  await life.control.deprovision(addon.id);
  // The exchange's own count is stored with the next scrape.
  await eventually(async () => {
    text = await operator(life.world).metrics();
    expect(text).toMatch(/^addon_platform_request_duration_seconds_count/m);
    expect(text).toMatch(/^addon_credentials_needing_attention/m);
    // The next beat brings what was measured.
    expect(text).toMatch(/^addon_clocks_apart_seconds\{between="database_platform"/m);
  });
  samples = samplesIn(text);
  names = new Set([...samples.keys()].map((name) => name.replace(/_(bucket|count|sum)$/, "")));
});

function samplesIn(scrape: string): typeof samples {
  const all: typeof samples = new Map();
  for (const [, name, labels] of scrape.matchAll(/^([a-z]\w*)(?:\{(.*)\})? /gm)) {
    const known = all.get(name!) ?? new Map<string, Set<string>>();
    for (const [, label, value] of (labels ?? "").matchAll(/(\w+)="([^"]*)"/g))
      known.set(label!, (known.get(label!) ?? new Set()).add(value!));
    all.set(name!, known);
  }
  return all;
}

/** Whatever an expression names that no scrape shows. */
function missingIn(expression: string): string[] {
  return selectorsIn(expression).flatMap(({ metric, matchers, groupedBy }) => {
    const labels = samples.get(metric);
    if (!labels) return [metric];
    const isShown = (label: string, value: string) =>
      [...(labels.get(label) ?? [])].some((each) => new RegExp(`^(?:${value})$`).test(each));
    return [
      // A scraper adds two labels to each series.
      ...groupedBy.filter((label) => !labels.has(label) && !["job", "instance"].includes(label)),
      ...matchers.flatMap(({ label, values }) =>
        values.filter((value) => !isShown(label, value)).map((value) => `${metric}{${label}="${value}"}`),
      ),
    ];
  });
}

describe("GET /metrics", () => {
  it("has no label that a scraper sets", () => {
    const labels = [...samples.values()].flatMap((each) => [...each.keys()]);
    expect(labels.filter((label) => /^(job|instance|exported_.*|__.*)$/.test(label))).toEqual([]);
    // A metric without a sample would be one whose labels nobody has seen.
    const declared = [...text.matchAll(/^# TYPE (addon_\w+)/gm)].map(([, name]) => name!);
    expect(declared.filter((name) => !names.has(name))).toEqual([]);
  });

  it("is described in docs/metrics.md, with each label, and nothing else is", () => {
    const rows = [...read("docs/metrics.md").matchAll(/^\| `(addon_\w+)`\s*\|([^|]*)\|/gm)];
    const told = rows.map(([, name, labels]) => [
      name!,
      [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!).sort(),
    ]);
    const shown = [...names]
      .filter((name) => name.startsWith("addon_"))
      .map((name) => {
        const labels = samples.get(name) ?? samples.get(`${name}_count`)!;
        return [name, [...labels.keys()].sort()];
      });
    expect(told.sort()).toEqual(shown.sort());
  });
});

describe.each(alerts.map((alert) => [alert.alert, alert] as const))("%s", (name, alert) => {
  it("selects series that a service has", () => {
    expect(selectorsIn(alert.expr)).not.toEqual([]);
    expect(missingIn(alert.expr)).toEqual([]);
  });

  it("says what happened, and links to its own section of the runbook and to the dashboard", () => {
    const { runbook_url: runbook, dashboard_url, ...words } = alert.annotations;
    expect(words).toEqual({ summary: expect.any(String), description: expect.any(String) });
    const anchor = name === "AddonAlarm" ? "the-alarms" : name.toLowerCase();
    expect(runbook).toBe(`{{ $externalLabels.docs }}/operate.md#${anchor}`);
    expect(read("docs/operate.md").toLowerCase().replaceAll(" ", "-")).toMatch(
      new RegExp(`^#+-${anchor}$`, "m"),
    );
    expect(dashboard_url).toBe(`{{ $externalLabels.grafana }}/d/${dashboard.uid}`);
    expect(["page", "ticket"]).toContain(alert.labels.severity);
  });
});

describe("the alerts", () => {
  it("all have a section of docs/operate.md, which has no other", () => {
    const sections = [...read("docs/operate.md").matchAll(/^### (Addon\w+)$/gm)].map(([, name]) => name!);
    expect(["AddonAlarm", ...sections].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });

  it("all fire and end in a test with a real Prometheus", () => {
    const tests = ["work", "processes"]
      .map((kind) => read(`test/metrics/alerts-of-${kind}.slow.test.ts`))
      .join("");
    expect(alerts.filter(({ alert }) => !tests.includes(`"${alert}"`))).toEqual([]);
  });

  it("include the first alarm of each kind: a new service shows every alarm as 0", () => {
    expect([...samples.get("addon_alarms_total")!.get("alarm")!].sort()).toEqual([...ALARMS].sort());
  });
});

describe("ops/dashboard.json", () => {
  it.each(panels.map((panel) => [panel.title, panel] as const))("%s", (_, { targets = [] }) => {
    for (const { expr, legendFormat } of targets) {
      expect(missingIn(expr)).toEqual([]);
      const grouped = selectorsIn(expr).flatMap(({ groupedBy }) => groupedBy);
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      expect(shown.filter((label) => !grouped.includes(label))).toEqual([]);
    }
  });

  it("begins with the questions of the overview: what is wrong now, then the customers", () => {
    const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
    expect(rows.slice(0, 3)).toEqual(["Now", "Customers", "Your service"]);
  });

  it("shows each metric of the kit", () => {
    const shown = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => selectorsIn(expr)));
    const used = new Set(shown.map(({ metric }) => metric.replace(/_(bucket|count|sum)$/, "")));
    expect([...names].filter((name) => name.startsWith("addon_") && !used.has(name))).toEqual([]);
  });
});

/** A series that an expression selects, with the labels by which it is grouped around it. */
interface Selector {
  metric: string;
  matchers: { label: string; values: string[] }[];
  groupedBy: string[];
}

/** What an expression of Prometheus selects. Throws if it is none; Grafana's variables count as durations. */
function selectorsIn(expression: string): Selector[] {
  const text = expression.replaceAll("$__rate_interval", "5m");
  const found: Selector[] = [];
  const around: string[][] = [];
  parser.parse(text).iterate({
    enter({ node, type }) {
      const textOf = (each: { from: number; to: number }) => text.slice(each.from, each.to);
      if (type.isError) throw new Error(`no expression of Prometheus: ${expression}`);
      if (type.name === "AggregateExpr") {
        const labels = node
          .getChild("AggregateModifier")
          ?.getChild("GroupingLabels")
          ?.getChildren("LabelName");
        around.push((labels ?? []).map(textOf));
      }
      if (type.name !== "VectorSelector") return;
      const matchers = node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? [];
      found.push({
        metric: textOf(node.getChild("Identifier")!),
        matchers: matchers.map((matcher) => ({
          label: textOf(matcher.getChild("LabelName")!),
          values: textOf(matcher.getChild("StringLiteral")!).slice(1, -1).split("|"),
        })),
        groupedBy: around.flat(),
      });
    },
    leave({ type }) {
      if (type.name === "AggregateExpr") around.pop();
    },
  });
  return found;
}
