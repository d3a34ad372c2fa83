import { expect, it } from "@jest/globals";
import { delay } from "../wire/delay.ts";

const never = new AbortController().signal;

it("a delay is never shorter than asked for, whatever fraction of a millisecond it starts at", async () => {
  const waited: number[] = [];
  for (let i = 0; i < 100; i++) {
    const beginsAt = performance.now() + Math.random();
    while (performance.now() < beginsAt);
    const from = performance.now();
    await delay(3, never);
    waited.push(performance.now() - from);
  }
  expect(Math.min(...waited)).toBeGreaterThanOrEqual(3);
});

it("a delay ends when its signal is aborted", async () => {
  await expect(delay(60_000, AbortSignal.timeout(10))).rejects.toThrow();
});
