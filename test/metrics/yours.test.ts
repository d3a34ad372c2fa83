import { spawnSync } from "node:child_process";
import type { Extensions, Kit } from "../../src/extend/contract.ts";
import { openContext } from "../../src/open-context.ts";
import { aVendor } from "../support/a-vendor.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { aWorld, eventually, opened } from "../support/world.ts";
import { operator, PASSWORD } from "./operator.ts";

// The vendor's histograms and gauges; test/extend/extend.test.ts has the counters.

/** What the gauges read. */
let depth: () => Promise<unknown> = async () => 3;
let hosts: () => Promise<unknown> = async () => [];
const metrics = {
  boil_seconds: { type: "histogram", help: "How long a pot boils", labels: ["kiln"], buckets: [0.5, 2, 60] },
  pour_bytes: { type: "histogram", help: "Sizes of pours", buckets: [1] },
  shelf_depth: { type: "gauge", help: "Pots on the shelf", read: () => depth() as Promise<number> },
  pots: { type: "gauge", help: "Pots by kiln", labels: ["kiln"], read: () => hosts() as Promise<[]> },
} as const satisfies Extensions["metrics"];
let kit: Kit<typeof metrics>;
const parts = { vendor: (given: Kit) => ((kit = given), Object.assign(aVendor(), { metrics })) };
const world = opened(() => aWorld({ environment: { OPERATOR_PASSWORD: PASSWORD }, parts }));
const samples = () => operator(world).samples();
/** Waits until a series has this value in a scrape; null: there is none. */
const becomes = (series: string, value: number | null) =>
  eventually(async () => expect((await samples()).get(series) ?? null).toBe(value));

const promtool = spawnSync("promtool", ["--version"]).status === 0 ? it : it.skip;

describe("a histogram", () => {
  it("sums what all processes have observed, by its buckets", async () => {
    kit.observe("boil_seconds", 1.5, { kiln: "north" });
    kit.observe("boil_seconds", 0.5, { kiln: "north" });
    const other = await openContext(teapotConfig(world.environment), {
      ...teapotParts,
      vendor: Object.assign(aVendor(), { metrics }),
    });
    other.metrics.yours.observe("boil_seconds", { kiln: "north" }, 61);
    await other.totals.store();
    await other.close();
    await becomes(`boil_seconds_count{kiln="north"}`, 3);
    const now = await samples();
    const bucket = (le: string) => now.get(`boil_seconds_bucket{kiln="north",le="${le}"}`);
    expect(["0.5", "2", "60", "+Inf"].map(bucket)).toEqual([1, 2, 2, 3]);
    expect(now.get(`boil_seconds_sum{kiln="north"}`)).toBe(63);
    expect(now.get("pour_bytes_count")).toBe(0);
  });

  it("no longer shows the buckets of an earlier release", async () => {
    await world.rows(`INSERT INTO metric_totals VALUES ('pour_bytes_bucket', '{"le":7}', 5)`);
    const now = [...(await samples()).keys()].filter((name) => name.startsWith("pour_bytes_bucket"));
    expect(now).toEqual([`pour_bytes_bucket{le="1"}`, `pour_bytes_bucket{le="+Inf"}`]);
  });

  it.each<[string, string, unknown, object, string]>([
    ["a name that is not declared", "brew_seconds", 1, {}, "brew_seconds is not among the metrics"],
    ["the name of a gauge", "shelf_depth", 1, {}, "or no histogram"],
    ["another label", "boil_seconds", 1, { oven: "x" }, "oven"],
    ["a label that is no text", "boil_seconds", 1, { kiln: 7 }, "the label kiln is no text"],
    ...[NaN, -1, Infinity, "2"].map((value): [string, string, unknown, object, string] =>
      [`${typeof value} ${value}`, "boil_seconds", value, { kiln: "odd" }, "no number to observe"]),
  ])("is not changed by %s: the log names it, and nothing is thrown", async (_what, name, value, labels, words) => {
    kit.observe(name as "boil_seconds", value as number, labels as { kiln: string });
    expect(world.lines("kit.observe()", `"metric":"${name}"`, words)).not.toEqual([]);
    expect([...(await samples()).keys()].join()).not.toContain("odd");
  }); // prettier-ignore
});

describe("a gauge", () => {
  it("is what it reads when it is scraped, in whichever process that is, and leaves with its labels", async () => {
    depth = async () => -2.5;
    hosts = async () => [
      { labels: { kiln: "north" }, value: 1 },
      { labels: { kiln: "south" }, value: 2 },
    ];
    await becomes("shelf_depth", -2.5);
    expect((await samples()).get(`pots{kiln="south"}`)).toBe(2);
    hosts = async () => [{ labels: { kiln: "north" }, value: 5 }];
    await becomes(`pots{kiln="north"}`, 5);
    expect((await samples()).has(`pots{kiln="south"}`)).toBe(false);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ["throws", () => Promise.reject(new Error("the shelf broke")), "the shelf broke"],
    ["hangs", () => new Promise(() => undefined), "took longer than 3 s"],
    ["returns no number", async () => "3", "is no number"],
    ["returns nothing", async () => undefined, "is no number"],
    ["has another label", async () => [{ labels: { oven: "x" }, value: 1 }], "no label oven"],
    ["has a series twice", async () => [1, 2].map((value) => ({ labels: {}, value })), "two values"],
    ["has too many", async () => Array.from({ length: 1_001 }, (_, at) => ({ labels: {}, value: at })), "1000 fit"],
  ])("that %s is missing alone, and the log says why", async (_what, read, words) => {
    depth = async () => 3;
    await becomes("shelf_depth", 3);
    depth = read;
    await becomes("shelf_depth", null);
    expect((await samples()).get("addon_database_up")).toBe(1);
    expect(world.lines('"metric":"shelf_depth"', words)).not.toEqual([]);
    depth = async () => 3;
  }); // prettier-ignore
});

promtool("all of them are what Prometheus' own tool takes", async () => {
  depth = async () => Infinity;
  const input = await eventually(async () => {
    const text = await operator(world).metrics();
    return /^shelf_depth \+Inf$/m.test(text) ? text : null;
  });
  const { stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input });
  const complaints = `${stdout}${stderr}`.split("\n").filter((line) => /boil|pour|shelf|pots/.test(line));
  expect(complaints).toEqual([]);
});

it.each<[string, object, string]>([
  ["of another type", { rings: { type: "summary", help: "x" } }, `type is "summary"`],
  ["without buckets", { rings: { type: "histogram", help: "x" } }, "buckets must be"],
  ["with no bucket", { rings: { type: "histogram", help: "x", buckets: [] } }, "buckets must be"],
  ["with buckets in disorder", { rings: { type: "histogram", help: "x", buckets: [2, 1] } }, "buckets must be"],
  ["with an endless bucket", { rings: { type: "histogram", help: "x", buckets: [1, Infinity] } }, "buckets must be"],
  ["with nothing to read", { rings: { type: "gauge", help: "x" } }, "read is no function"],
  ["named like a histogram's series", {
    rings: { type: "histogram", help: "x", buckets: [1] },
    rings_count: { help: "x" },
  }, "a series of the histogram rings"],
])("a metric %s keeps the service from starting", async (_what, wrong, words) => {
  const own = { ...teapotParts, vendor: Object.assign(aVendor(), { metrics: wrong as never }) };
  await expect(openContext(teapotConfig(world.environment), own)).rejects.toThrow(words);
}); // prettier-ignore

it("a metric of another type, or a label that is not declared, does not compile", () => {
  const wrong = (typed: Kit<typeof metrics>) => {
    typed.observe("pour_bytes", 1);
    // @ts-expect-error: no such metric
    typed.observe("boils_seconds", 1);
    // @ts-expect-error: a gauge is read
    typed.observe("shelf_depth", 1);
    // @ts-expect-error: a histogram is no counter
    typed.count("pour_bytes");
    // @ts-expect-error: no such label
    typed.observe("boil_seconds", 1, { oven: "x" });
  };
  expect(wrong).toBeInstanceOf(Function);
});
