import { expect, it } from "@jest/globals";
import { delay } from "../../sandbox/wire/delay.ts";

const never = new AbortController().signal;

it("is never shorter than was asked for, at whatever fraction of a millisecond it begins", async () => {
  const waited: number[] = [];
  for (let i = 0; i < 300; i++) {
    const beginsAt = performance.now() + Math.random();
    while (performance.now() < beginsAt);
    const from = performance.now();
    await delay(3, never);
    waited.push(performance.now() - from);
  }
  expect(Math.min(...waited)).toBeGreaterThanOrEqual(3);
});

it("ends with its signal", async () => {
  await expect(delay(60_000, AbortSignal.timeout(10))).rejects.toThrow();
});
