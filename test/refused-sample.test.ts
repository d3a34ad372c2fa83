import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { createLog } from "../src/log.ts";
import { createScrubber } from "../src/scrubber.ts";
import { createRefusedSample } from "../src/refused-sample.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function aSample() {
  const lines: string[] = [];
  const log = createLog("info", createScrubber(""), { write: (line) => void lines.push(line) });
  return { isWritten: createRefusedSample(log), lines };
}

it("Twenty refused requests in ten seconds are written down, and how many more there were", () => {
  const { isWritten, lines } = aSample();
  const written = Array.from({ length: 1_000 }, isWritten).filter(Boolean);
  expect(written).toHaveLength(20);
  expect(lines).toEqual([]);
  jest.advanceTimersByTime(10_000);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ level: "warn", leftOut: 980 }),
  ]);
  expect(isWritten()).toBe(true);
});

it("A few are written down, each of them, and nothing is said about more", () => {
  const { isWritten, lines } = aSample();
  expect(Array.from({ length: 20 }, isWritten)).not.toContain(false);
  jest.advanceTimersByTime(60_000);
  expect(lines).toEqual([]);
});
