import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { createLog } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { createRefusedSample } from "../../src/logging/request-log.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function aSample() {
  const lines: string[] = [];
  const log = createLog("info", createScrubber(""), { write: (line) => void lines.push(line) });
  const sample = createRefusedSample(log);
  return { sample, isWritten: () => sample.isWritten({}), lines };
}

it("of many refused requests twenty in a minute are logged, with the number of the others", () => {
  const { isWritten, lines } = aSample();
  const written = Array.from({ length: 1_000 }, isWritten).filter(Boolean);
  expect(written).toHaveLength(20);
  expect(lines).toEqual([]);
  jest.advanceTimersByTime(60_000);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      ...{ level: "info", leftOut: 980 },
      msg: "Refused requests were left out of the log",
    }),
  ]);
  expect(isWritten()).toBe(true);
});

it("many requests for unknown paths do not displace the log lines of wrong passwords", () => {
  const { sample, lines } = aSample();
  for (let times = 0; times < 1_000; times++) sample.isWritten({}, 404);
  expect(sample.isWritten({}, "wrong_password")).toBe(true);
  jest.advanceTimersByTime(60_000);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ leftOut: 980, kind: 404 }]);
});
