import { afterEach, expect, it, jest } from "@jest/globals";
import type { Log } from "../../src/logging/log.ts";
import { vendorResource, type ResourceRow } from "../../src/resources/rows.ts";
import { createLeaseKeeper, Stopped } from "../../src/resources/steps/lease-keeper.ts";
import type { Step, StepQueue } from "../../src/resources/steps/queue.ts";
import type { Vault } from "../../src/vault/vault.ts";

const step = { id: 1, lease: 1, resource: { uuid: "u" } } as Step;
const keeper = (isOurs = true) =>
  createLeaseKeeper({ queue: { hold: async () => isOurs } as unknown as StepQueue, log: {} as Log });
const never = () => new Promise<never>(() => undefined);

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it("a step makes no signal that nobody reads", async () => {
  const made = jest.spyOn(AbortController.prototype, "signal", "get");
  const row = { sealedLogInputUrl: null, sealedLogDrainToken: null } as ResourceRow;
  const resource = await keeper().holding(step, async (wanted) =>
    vendorResource({} as Vault, row, "key", wanted),
  );
  expect(made).not.toHaveBeenCalled();
  expect(resource.signal.aborted).toBe(false);
  expect(made).toHaveBeenCalledTimes(1);
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
  const work = keeper(isOurs).holding(step, (wanted) => ((signal = wanted.signal), never()));
  const failure = work.catch((error: Error) => error.message);
  await jest.advanceTimersByTimeAsync(ms - 1);
  expect(signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(signal.aborted).toBe(true);
  expect((signal.reason as Error).message).toContain(words);
  expect(await failure).toContain(words);
});

it("the signal is aborted from the beginning for work that first reads it after it was cut off", async () => {
  const leases = keeper();
  let readLate!: () => AbortSignal;
  const work = leases.holding(step, (wanted) => ((readLate = () => wanted.signal), never()));
  leases.cutOff();
  await expect(work).rejects.toThrow(Stopped);
  expect(readLate().reason).toBeInstanceOf(Stopped);
});
