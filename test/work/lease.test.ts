import { afterEach, expect, it, jest } from "@jest/globals";
import type { Context } from "../../src/context.ts";
import { holding } from "../../src/work/runner.ts";
import type { Step } from "../../src/work/step.ts";

const step = { key: "k", lease: 1, resource: { uuid: "u" } } as Step;

afterEach(() => {
  jest.useRealTimers();
});

it.each([
  ["the lease is lost", false, 10_000, "no longer ours"],
  ["it takes more than ten minutes", true, 600_000, "took too long"],
])("the signal of a step's work is aborted when %s, and the step ends", async (_, isOurs, ms, words) => {
  jest.useFakeTimers();
  const ctx = { db: { query: async () => (isOurs ? [{}] : []) } } as unknown as Context;
  let signal!: AbortSignal;
  const work = (given: AbortSignal) => ((signal = given), new Promise<never>(() => undefined));
  const failure = holding(ctx, step, new AbortController().signal, work).catch((error: Error) => error);
  await jest.advanceTimersByTimeAsync(ms - 1);
  expect(signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(signal.aborted).toBe(true);
  expect(await failure).toMatchObject({ message: expect.stringContaining(words) });
});
