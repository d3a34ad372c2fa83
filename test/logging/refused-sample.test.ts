import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { createLog } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { createRefusedSample } from "../../src/logging/refused-sample.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function aSample() {
  const lines: string[] = [];
  const log = createLog("info", createScrubber(""), { write: (line) => void lines.push(line) });
  const sample = createRefusedSample(log);
  return { sample, isWritten: () => sample.isWritten({}), lines };
}

it("of many refused requests twenty in ten seconds are logged, with the number of the others", () => {
  const { isWritten, lines } = aSample();
  const written = Array.from({ length: 1_000 }, isWritten).filter(Boolean);
  expect(written).toHaveLength(20);
  expect(lines).toEqual([]);
  jest.advanceTimersByTime(10_000);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      ...{ level: "warn", leftOut: 980 },
      msg: "Refused requests were left out of the log",
    }),
  ]);
  expect(isWritten()).toBe(true);
});

it("many requests for unknown paths do not displace the log lines of wrong passwords", () => {
  const { sample, lines } = aSample();
  for (let times = 0; times < 1_000; times++) sample.isWritten({}, "not_found");
  expect(sample.isWritten({})).toBe(true);
  jest.advanceTimersByTime(10_000);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { leftOut: 980, kind: "not_found" },
  ]);
});

it("a few refused requests are all logged, without a summary", () => {
  const { isWritten, lines } = aSample();
  expect(Array.from({ length: 20 }, isWritten)).not.toContain(false);
  jest.advanceTimersByTime(60_000);
  expect(lines).toEqual([]);
});

it("all lines of a request are logged, or none", () => {
  const { sample } = aSample();
  const requests = Array.from({ length: 30 }, () => ({}));
  const written = requests.map((request) => [sample.isWritten(request), sample.isWritten(request)]);
  expect(written.filter(([first]) => first)).toHaveLength(20);
  expect(written.filter(([first, second]) => first !== second)).toEqual([]);
  expect(requests.map((request) => sample.isLeftOut(request))).toEqual(written.map(([first]) => !first));
  expect(sample.isLeftOut({})).toBe(false);
});
