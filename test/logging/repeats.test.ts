import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { createLog } from "../../src/logging/log.ts";
import { createRepeats, EACH } from "../../src/logging/repeats.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function aLog() {
  const lines: Record<string, unknown>[] = [];
  const alarms: string[] = [];
  const repeats = createRepeats(({ outcome }) => (outcome === "unknown" ? "outage" : null), 60_000);
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
  const noteOn = (alarm: string) => (alarms.push(alarm), null);
  const log = createLog("info", createScrubber(""), destination, noteOn, repeats);
  return { log, repeats, lines, alarms };
}

const FAILS = "A token could not be refreshed yet";

describe("warnings and errors of one cause", () => {
  it("are logged when it begins, at most once a minute while it lasts, and when it has ended, with their number", () => {
    const { log, lines } = aLog();
    for (let second = 0; second < 150; second++) {
      for (const uuid of ["a", "b"]) log.warn({ uuid, outcome: "unknown", error: { id: "http_503" } }, FAILS);
      log.warn({ uuid: "c", outcome: "unknown" }, "A grant is not exchanged yet");
      jest.advanceTimersByTime(1_000);
    }
    jest.advanceTimersByTime(120_000);
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatchObject({ level: "warn", uuid: "a", msg: FAILS });
    for (const line of lines.slice(1, 3))
      expect(line).toMatchObject({
        leftOut: expect.any(Number),
        others: expect.arrayContaining(["a", "b", "c"]),
      });
    expect(lines[3]).toMatchObject({
      cause: "outage",
      times: 450,
      msg: expect.stringContaining(": 450 times in "),
    });
  });

  it("that lasts for seconds are two lines", () => {
    const { log, lines } = aLog();
    for (let times = 0; times < 500; times++) log.error({ uuid: `u${times}`, alarm: "grant_lost" }, "Lost");
    jest.advanceTimersByTime(600_000);
    expect(lines).toMatchObject([
      { uuid: "u0", alarm: "grant_lost" },
      { ended: "grant_lost", times: 500 },
    ]);
    expect(lines[1]).not.toHaveProperty("alarm");
    expect(lines[1]!["others"]).toHaveLength(20);
  });

  it("are counted as alarms each", () => {
    const { log, alarms } = aLog();
    for (const uuid of ["a", "b"]) log.error({ uuid, alarm: "grant_lost" }, "Lost");
    expect(alarms).toEqual(["grant_lost", "grant_lost"]);
  });

  it("are all written if they are marked, but only the first as an alarm", () => {
    const { log, lines } = aLog();
    for (const uuid of ["a", "b"]) log.error({ [EACH]: true, uuid, alarm: "provision_lost" }, "Lost");
    expect(lines).toMatchObject([{ uuid: "a", alarm: "provision_lost" }, { uuid: "b" }]);
    expect(lines[1]).not.toHaveProperty("alarm");
  });

  it("are counted in a last line when the process stops", () => {
    const { log, repeats, lines } = aLog();
    for (let times = 0; times < 3; times++) log.warn({ error: new Error("no") }, FAILS);
    repeats.end();
    expect(lines).toMatchObject([{ msg: FAILS }, { times: 3 }]);
  });
});

it("different causes are logged apart, whatever ids and times their errors name", () => {
  const { log, lines } = aLog();
  for (const uuid of ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "9a3b77c1-4f89-11d3-9a0c-0305e82c3301"])
    for (const status of [403, 422])
      log.warn({ uuid, error: new Error(`PATCH /addons/${uuid}/config was refused with ${status}`) }, FAILS);
  for (const job of ["one", "two"]) log.error({ job, error: new Error("no") }, "A job failed");
  expect(lines).toHaveLength(4);
});

it("a line that is alone has no second one", () => {
  const { log, lines } = aLog();
  log.warn({ error: new Error("no") }, FAILS);
  jest.advanceTimersByTime(600_000);
  expect(lines).toHaveLength(1);
});
