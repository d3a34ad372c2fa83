import { afterEach, expect, it, jest } from "@jest/globals";
import type { Context } from "../../src/context.ts";
import { holding, Stopped } from "../../src/work/lease.ts";
import type { Step } from "../../src/work/step.ts";

const step = { key: "k", lease: 1, resource: { uuid: "u" } } as Step;
const ctx = (isOurs = true) => ({ db: { query: async () => (isOurs ? [{}] : []) } }) as unknown as Context;
const never = () => new Promise<never>(() => undefined);

afterEach(() => {
  jest.useRealTimers();
});

it("work that is cut off rejects", async () => {
  const cut = new AbortController();
  const work = holding(ctx(), step, cut.signal, never);
  cut.abort(new Stopped());
  await expect(work).rejects.toThrow(Stopped);
  await expect(holding(ctx(), step, cut.signal, never)).rejects.toThrow(Stopped);
});

it.each([
  ["the lease is lost", false, 10_000, "no longer ours"],
  ["it takes more than ten minutes", true, 600_000, "took too long"],
])("the signal of a step's work is aborted when %s", async (_, isOurs, ms, words) => {
  jest.useFakeTimers();
  let signal!: AbortSignal;
  const { signal: cut } = new AbortController();
  const work = holding(ctx(isOurs), step, cut, (given) => ((signal = given), never()));
  const failure = work.catch((error: Error) => error.message);
  await jest.advanceTimersByTimeAsync(ms - 1);
  expect(signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(signal.aborted).toBe(true);
  expect((signal.reason as Error).message).toContain(words);
  expect(await failure).toContain(words);
});
