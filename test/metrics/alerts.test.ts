import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { alarmWords, quietAlarms } from "../support/alarm-words.ts";
import { aWorld, type World } from "../support/world.ts";
import { operator, PASSWORD } from "./operator.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

interface Alert {
  name: string;
  expr: string;
  for: string | null;
  severity: string;
  summary: string;
  runbook: string;
}

/** The rules, read line by line: each member is on a line of its own, and no other lines are allowed. */
const alerts: Alert[] = read("ops/alerts.yml")
  .split(/^ {6}- /m)
  .slice(1)
  .map((text) => {
    const [, name, expr, wait, severity, summary, runbook] =
      /^alert: (\w+)\n {8}expr: (.+)\n(?: {8}for: (\w+)\n)? {8}labels: \{ severity: (\w+) \}\n {8}annotations:\n {10}summary: (.+)\n {10}runbook: (\S+)\n$/.exec(
        text,
      )!;
    return { name, expr, for: wait ?? null, severity, summary, runbook } as Alert;
  });

let world: World;
/** Every name of a sample or a declaration. */
let names: Set<string>;
let text: string;
beforeAll(async () => {
  world = await aWorld({ environment: { OPERATOR_PASSWORD: PASSWORD } });
  text = await operator(world).metrics();
  names = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!));
});
afterAll(() => world.close());

const isKnown = (name: string) => names.has(name) || names.has(name.replace(/_(bucket|count|sum)$/, ""));

describe.each(alerts.map((alert) => [alert.name, alert] as const))("%s", (name, alert) => {
  it("uses existing metrics", () => {
    const used = alert.expr.match(/\b(addon|process|nodejs)_\w+/g)!;
    expect(used.filter((each) => !isKnown(each))).toEqual([]);
    expect(used).not.toEqual([]);
  });

  it("is a complete expression, with a duration", () => {
    const opened = [...alert.expr].filter((sign) => "({[".includes(sign)).length;
    const closed = [...alert.expr].filter((sign) => ")}]".includes(sign)).length;
    expect(opened).toBe(closed);
    expect(alert.for ?? "0m").toMatch(/^\d+[smh]$/);
    expect(["page", "ticket"]).toContain(alert.severity);
  });

  it("links to an existing chapter", () => {
    const [page, anchor] = alert.runbook.split("#") as [string, string];
    const anchors = [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    );
    expect(anchors).toContain(anchor);
    expect(name === "AddonAlarm" ? name.toLowerCase() : anchor).toBe(name.toLowerCase());
  });
});

describe("alert rules", () => {
  it("are all covered by this test, each with its own chapter", () => {
    expect(alerts).toHaveLength(read("ops/alerts.yml").match(/alert: /g)!.length);
    const chapters = [...read("docs/operate.md").matchAll(/^### (Addon\w+)$/gm)].map(([, name]) => name!);
    expect(chapters.sort()).toEqual(
      alerts
        .map(({ name }) => name)
        .filter((name) => name !== "AddonAlarm")
        .sort(),
    );
  });
});

describe("AddonAlarm", () => {
  it("fires at the first alarm of each kind: a fresh service exports every alarm as 0", () => {
    const shown = [...text.matchAll(/^addon_alarms_total\{alarm="(\w+)"\} (\d+)$/gm)];
    expect(shown.map(([, word, count]) => [word, count])).toEqual(alarmWords().map((word) => [word, "0"]));
  });
});

it("every alarm is logged as an error, at any LOG_LEVEL", () => {
  expect(quietAlarms()).toEqual([]);
});

describe("docs/metrics.md", () => {
  it("names every metric with its labels, and no other", () => {
    const told = [...read("docs/metrics.md").matchAll(/^\| `(addon_\w+)`/gm)].map(([, name]) => name!);
    expect(told.sort()).toEqual([...names].filter((name) => name.startsWith("addon_")).sort());
  });

  it("follows the naming conventions: counters end in _total, durations in _seconds", () => {
    const types = [...text.matchAll(/^# TYPE (addon_\w+) (\w+)$/gm)];
    for (const [, name, type] of types) {
      expect([name, name!.endsWith("_total")]).toEqual([name, type === "counter"]);
      if (type === "histogram") expect(name).toMatch(/_seconds$/);
    }
  });
});
