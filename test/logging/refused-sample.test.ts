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

it("Twenty refused requests in ten seconds are written down, and how many more there were", () => {
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

it("A flood of requests for what is not there leaves room for wrong passwords", () => {
  const { sample, lines } = aSample();
  for (let times = 0; times < 1_000; times++) sample.isWritten({}, "not_found");
  expect(sample.isWritten({})).toBe(true);
  jest.advanceTimersByTime(10_000);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { leftOut: 980, kind: "not_found" },
  ]);
});

it("A few are written down, each of them, and nothing is said about more", () => {
  const { isWritten, lines } = aSample();
  expect(Array.from({ length: 20 }, isWritten)).not.toContain(false);
  jest.advanceTimersByTime(60_000);
  expect(lines).toEqual([]);
});

it("All that is said of a request is written down, or nothing of it", () => {
  const { sample } = aSample();
  const requests = Array.from({ length: 30 }, () => ({}));
  const written = requests.map((request) => [sample.isWritten(request), sample.isWritten(request)]);
  expect(written.filter(([first]) => first)).toHaveLength(20);
  expect(written.filter(([first, second]) => first !== second)).toEqual([]);
  expect(requests.map((request) => sample.isLeftOut(request))).toEqual(written.map(([first]) => !first));
  expect(sample.isLeftOut({})).toBe(false);
});
