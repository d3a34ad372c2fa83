import { createWorkerPool } from "../../src/work/worker-pool.ts";
import { aGate } from "../support/a-vendor.ts";
import { eventually } from "../support/world.ts";

it("a pool that is filled twice at once starts no more than its places, and takes what one claim has left", async () => {
  const due = Array.from({ length: 12 }, (_, row) => row);
  const claims = aGate();
  const ends = aGate();
  let running = 0;
  let isFirst = true;
  const pool = createWorkerPool<number>({
    async claim(most) {
      const rows = due.splice(0, isFirst ? 3 : most);
      isFirst = false;
      await claims.opened;
      return rows;
    },
    handle: () => ((running += 1), ends.opened),
    places: () => 8,
  });
  const { signal } = new AbortController();
  const filled = [pool.fill(signal), pool.fill(signal)];
  claims.open();
  await eventually(() => expect(running).toBe(8));
  expect(due).toHaveLength(4);
  ends.open();
  const taken = await Promise.all(filled);
  expect(taken[0]! + taken[1]!).toBe(12);
  await pool.settled();
});

it("a claim that fails leaves its places to the next", async () => {
  const claim = aGate();
  const tries = [
    () => claim.opened.then(() => Promise.reject(new Error("away"))),
    async () => [1],
    async () => [],
  ];
  const begun: number[] = [];
  const pool = createWorkerPool<number>({
    claim: () => tries.shift()!(),
    handle: async (row) => void begun.push(row),
    places: () => 1,
  });
  const { signal } = new AbortController();
  const [failed, next] = [pool.fill(signal), pool.fill(signal)];
  claim.open();
  await expect(failed).rejects.toThrow("away");
  expect(await next).toBe(1);
  expect(begun).toEqual([1]);
});
