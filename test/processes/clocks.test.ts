import { jest } from "@jest/globals";
import type { Http, HttpAnswer } from "../../src/platform/call.ts";
import { type Ahead, apart, createClocks } from "../../src/processes/clocks.ts";

// Which clock is said to be wrong, and what a measurement is worth.

const all = (database: number | null, platform: number | null): Ahead => ({ database, platform });

it.each<[string, Ahead, RegExp | null]>([
  ["nothing is known", all(null, null), null],
  ["all agree", all(0.2, -0.7), null],
  ["it is less than a minute", all(59, -0.7), null],
  ["the database's is ahead", all(600, 0), /^The database's clock is 600 s ahead of the platform's and ours\./],
  ["the database's is behind", all(-600, 1), /^The database's clock is 60[01] s behind the platform's and ours\./],
  ["the process's is behind", all(600, 600), /^Ours clock is 600 s behind the database's and the platform's\./],
  ["the process's is ahead", all(-61, -60), /^Ours clock is 6[01] s ahead of the database's and the platform's\./],
  ["the platform's is ahead", all(0, 3_600), /^The platform's clock is 3600 s ahead of the database's and ours\./],
  ["only that of the database is known", all(-90, null), /^The database's clock is 90 s behind ours\./],
  ["only that of the platform is known", all(null, 90), /^Ours clock is 90 s behind the platform's\./],
  ["no two agree", all(300, -300), / clock is \d+ s /],
])("when %s", (_, ahead, message) => {
  const found = apart(ahead, "ours");
  if (message === null) return expect(found).toBeNull();
  expect(found!.message).toMatch(message);
  expect(found!.fix).toContain("timedatectl");
}); // prettier-ignore

describe("a measurement", () => {
  let [wallMs, steadyMs] = [0, 0];
  const pass = (ms: number) => {
    wallMs += ms;
    steadyMs += ms;
  };
  beforeEach(() => {
    [wallMs, steadyMs] = [1_000_000_000_000, 5_000];
    jest.spyOn(Date, "now").mockImplementation(() => wallMs);
    jest.spyOn(performance, "now").mockImplementation(() => steadyMs);
  });
  afterEach(() => jest.restoreAllMocks());

  it("takes the middle of the round trip, and one that took long for nothing", () => {
    const clocks = createClocks();
    const quick = clocks.measure("database");
    pass(400);
    quick(wallMs - 200 + 90_000);
    expect(clocks.ahead()).toEqual({ database: 90, platform: null });
    const frozen = clocks.measure("database");
    pass(160_000);
    frozen(wallMs - 160_000);
    expect(clocks.ahead().database).toBe(90);
  });

  it("is forgotten when our own clock was set", () => {
    const clocks = createClocks();
    clocks.measure("platform")(wallMs + 90_000);
    wallMs += 90_000;
    expect(clocks.ahead()).toEqual({ database: null, platform: null });
    // Also in the middle of one.
    const end = clocks.measure("platform");
    wallMs -= 90_000;
    end(wallMs);
    pass(10_000);
    clocks.measure("platform")(wallMs);
    expect(clocks.ahead().platform).toBe(0);
  });

  it.each<[string, Record<string, string>, number | null]>([
    ["its Date", { date: new Date(1_000_000_090_000).toUTCString() }, 90.5],
    ["no Date", {}, null],
    ["a Date that is none", { date: "yesterday" }, null],
    ["a Date out of a cache", { date: new Date(999_999_000_000).toUTCString(), age: "1000" }, null],
  ])("of the platform takes %s", async (_, headers, platform) => {
    const answer = { status: 200, headers, body: "" } as HttpAnswer;
    const http: Http = { send: () => Promise.resolve(answer), close: () => Promise.resolve() };
    const clocks = createClocks();
    expect(await clocks.heard(http).send({ method: "GET", url: "https://example.com" })).toBe(answer);
    expect(clocks.ahead().platform).toBe(platform);
  });
});
