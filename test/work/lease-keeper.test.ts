import { afterEach, expect, it, jest } from "@jest/globals";
import type { Log } from "../../src/logging/log.ts";
import { createLeaseKeeper, Stopped } from "../../src/work/lease-keeper.ts";
import type { StepQueue } from "../../src/work/queue.ts";
import type { Step } from "../../src/work/step.ts";

const step = { id: 1, lease: 1, resource: { uuid: "u" } } as Step;
const keeper = (isOurs = true) =>
  createLeaseKeeper({ queue: { hold: async () => isOurs } as unknown as StepQueue, log: {} as Log });
const never = () => new Promise<never>(() => undefined);

afterEach(() => {
  jest.useRealTimers();
});

it("work that is cut off rejects", async () => {
  const leases = keeper();
  const work = leases.holding(step, never);
  leases.cutOff();
  await expect(work).rejects.toThrow(Stopped);
  await expect(leases.holding(step, never)).rejects.toThrow(Stopped);
});

it.each([
  ["the lease is lost", false, 10_000, "no longer ours"],
  ["it takes more than ten minutes", true, 600_000, "took too long"],
])("the signal of a step's work is aborted when %s", async (_, isOurs, ms, words) => {
  jest.useFakeTimers();
  let signal!: AbortSignal;
  const work = keeper(isOurs).holding(step, (given) => ((signal = given), never()));
  const failure = work.catch((error: Error) => error.message);
  await jest.advanceTimersByTimeAsync(ms - 1);
  expect(signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(signal.aborted).toBe(true);
  expect((signal.reason as Error).message).toContain(words);
  expect(await failure).toContain(words);
});
