import { jest } from "@jest/globals";
import { createLog, createSample } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/secret.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function aLog() {
  const lines: Record<string, unknown>[] = [];
  const alarms: string[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
  const noteOn = (alarm: string) => (alarms.push(alarm), null);
  const sample = createSample(60_000);
  return { log: createLog("info", createScrubber(""), destination, noteOn, sample), sample, lines, alarms };
}

it("of the warnings and errors of a kind one a minute is written, with the number of the others; each alarm counts", () => {
  const { log, sample, lines, alarms } = aLog();
  for (let second = 0; second < 150; second++) {
    for (const uuid of ["a", "b"]) log.error({ uuid, second, error: { id: "http_503" } }, "Lost");
    log.error({ alarm: "job_hangs" }, "Hangs");
    log.info("Each is written");
    jest.advanceTimersByTime(1_000);
  }
  log.warn("Once");
  sample.end();
  sample.end();
  expect(alarms).toHaveLength(150);
  const of = (msg: string) => lines.filter((line) => line["msg"] === msg);
  expect(of("Lost")).toMatchObject([
    { uuid: "a", second: 0 },
    { uuid: "b", second: 59, leftOut: 118 },
    { uuid: "b", second: 119, leftOut: 119 },
    { uuid: "b", second: 149, leftOut: 59 },
  ]);
  expect(of("Hangs").map(({ leftOut }) => leftOut)).toEqual([undefined, 58, 59, 29]);
  expect(of("Each is written")).toHaveLength(150);
  expect(of("Once")).toHaveLength(1);
});

it("another sentence, error, reason, job or kind is another kind, but for the ids and times that an error names", () => {
  const { log, lines } = aLog();
  for (const uuid of ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "9a3b77c1-4f89-11d3-9a0c-0305e82c3301"]) {
    for (const status of [403, 422])
      log.warn(
        { uuid, error: new Error(`PATCH /addons/${uuid}/config was refused with ${status}`) },
        "Not yet",
      );
    for (const members of [
      { reason: "expired" },
      { reason: "unknown" },
      { job: "a" },
      { job: "b" },
      { kind: "finish" },
    ])
      log.error({ uuid, ...members }, "Failed");
  }
  expect(lines).toHaveLength(7);
});

it("an alarm about one resource or person hides none about another, until there are too many", () => {
  const { log, sample, lines } = aLog();
  for (let time = 0; time < 2; time++)
    for (let number = 0; number < 6_000; number++)
      for (const about of [{ uuid: `u-${number}` }, { person: `p-${number}` }])
        log.error({ alarm: "quarantined", ...about }, "Quarantined");
  expect(new Set(lines.map(({ uuid, person }) => uuid ?? person)).size).toBe(10_001);
  expect(lines).toHaveLength(10_001);
  sample.end();
  expect(lines).toHaveLength(20_002);
  expect(lines.at(-1)).toMatchObject({ person: "p-5999", leftOut: 3_998 });
});
