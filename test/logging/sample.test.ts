import { jest } from "@jest/globals";
import { createLog } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function aLog() {
  const lines: Record<string, unknown>[] = [];
  const alarms: string[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
  const noteOn = (alarm: string) => (alarms.push(alarm), null);
  return { log: createLog("info", createScrubber(""), destination, noteOn, 60_000), lines, alarms };
}

it("of the warnings and errors of a kind one a minute is written, with the number of those before it; each alarm counts", () => {
  const { log, lines, alarms } = aLog();
  for (let second = 0; second < 150; second++) {
    for (const uuid of ["a", "b"])
      log.error({ uuid, alarm: "grant_lost", error: { id: "http_503" } }, "Lost");
    log.warn("Told as a text alone");
    log.info("Each is written");
    jest.advanceTimersByTime(1_000);
  }
  expect(alarms).toHaveLength(300);
  const of = (msg: string) => lines.filter((line) => line["msg"] === msg);
  expect(of("Lost")).toMatchObject([{ uuid: "a" }, { uuid: "a", leftOut: 119 }, { uuid: "a", leftOut: 119 }]);
  expect(of("Told as a text alone").map(({ leftOut }) => leftOut)).toEqual([undefined, 59, 59]);
  expect(of("Each is written")).toHaveLength(150);
});

it("another sentence or error is another kind, but for the ids and times that an error names", () => {
  const { log, lines } = aLog();
  for (const uuid of ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "9a3b77c1-4f89-11d3-9a0c-0305e82c3301"]) {
    for (const status of [403, 422])
      log.warn({ error: new Error(`PATCH /addons/${uuid}/config was refused with ${status}`) }, "Not yet");
    log.error({ uuid }, `A provision is lost: ${uuid}`);
  }
  expect(lines).toHaveLength(4);
});
