import { jest } from "@jest/globals";
import { createLog } from "../../src/logging/log.ts";
import { createRepeats, EACH } from "../../src/logging/repeats.ts";
import { createRefusedSample } from "../../src/logging/request-log.ts";
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
  it("are logged when it begins, and once a minute while it lasts, with their number", () => {
    const { log, lines } = aLog();
    for (let second = 0; second < 150; second++) {
      for (const uuid of ["a", "b"]) log.warn({ uuid, outcome: "unknown", error: { id: "http_503" } }, FAILS);
      log.warn({ uuid: "c", outcome: "unknown" }, "A grant is not exchanged yet");
      jest.advanceTimersByTime(1_000);
    }
    jest.advanceTimersByTime(240_000);
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatchObject({ level: "warn", uuid: "a", msg: FAILS });
    const others = expect.arrayContaining(["a", "b", "c"]);
    expect(lines.slice(1)).toMatchObject([
      { leftOut: 179, others },
      { leftOut: 180, others },
      { leftOut: 90, others },
    ]);
  });

  it("are counted as alarms each, and the last of them names twenty of the resources", () => {
    const { log, lines, alarms } = aLog();
    for (let times = 0; times < 500; times++) log.error({ uuid: `u${times}`, alarm: "grant_lost" }, "Lost");
    jest.advanceTimersByTime(600_000);
    expect(lines).toMatchObject([
      { uuid: "u0", alarm: "grant_lost" },
      { uuid: "u499", alarm: "grant_lost", leftOut: 499 },
    ]);
    expect(lines[1]!["others"]).toHaveLength(20);
    expect(alarms).toHaveLength(500);
  });

  it("are all written if they are marked", () => {
    const { log, lines } = aLog();
    for (const uuid of ["a", "b"]) log.error({ [EACH]: true, uuid, alarm: "provision_lost" }, "Lost");
    expect(lines).toMatchObject([{ uuid: "a" }, { uuid: "b" }]);
  });

  it.each(["over", "end"] as const)("are counted in a last line when the cause ends: %s", (how) => {
    const { log, repeats, lines } = aLog();
    for (let times = 0; times < 3; times++) log.warn({ cause: "outage", error: new Error("no") }, FAILS);
    repeats[how]("outage");
    expect(lines).toMatchObject([{ msg: FAILS }, { msg: FAILS, leftOut: 2 }]);
    jest.advanceTimersByTime(600_000);
    expect(lines).toHaveLength(2);
  });
});

it("different causes are logged apart, whatever ids and times their errors name; a line that is alone has no second one", () => {
  const { log, lines } = aLog();
  for (const uuid of ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "9a3b77c1-4f89-11d3-9a0c-0305e82c3301"])
    for (const status of [403, 422])
      log.warn({ uuid, error: new Error(`PATCH /addons/${uuid}/config was refused with ${status}`) }, FAILS);
  for (const job of ["one", "two"]) log.error({ job, error: new Error("no") }, "A job failed");
  expect(lines).toHaveLength(4);
  jest.advanceTimersByTime(600_000);
  expect(lines.slice(4)).toMatchObject([{ leftOut: 1 }, { leftOut: 1 }]);
});

it("of many refused requests twenty of a kind in a minute are logged, with the number of the others", () => {
  const { log, lines } = aLog();
  const { isWritten } = createRefusedSample(log);
  const kinds = Array.from({ length: 1_000 }, () => isWritten({}, 404));
  expect([kinds.filter(Boolean).length, isWritten({}, "wrong_password")]).toEqual([20, true]);
  jest.advanceTimersByTime(60_000);
  const msg = "Refused requests were left out of the log";
  expect(lines).toMatchObject([{ level: "info", leftOut: 980, kind: "404", msg }]);
  expect(isWritten({}, 404)).toBe(true);
});
