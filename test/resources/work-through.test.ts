import { expect, it } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { workThrough } from "../../src/operator/work-through.ts";

const how = { concurrency: 2, total: 3, isHalted: () => false };

it("work on many rows that cannot read the next page first completes the rows it has started", async () => {
  const ended: number[] = [];
  async function* rows() {
    yield 1;
    yield 2;
    await sleep(50);
    throw new Error("the next page cannot be read");
  }
  const work = async (row: number) => {
    await sleep(row * 100);
    ended.push(row);
  };
  await expect(workThrough(rows(), work, how)).rejects.toThrow("the next page cannot be read");
  expect(ended).toEqual([1, 2]);
});

it.each([
  ["all that were counted are done, and no more came", 3, 3, 0],
  ["all that were counted are done, and more came since", 4, 3, 1],
  ["some that were counted are not begun", 3, 1, 2],
])("stopped work reports how much is left: %s", async (_case, count, stopAfter, left) => {
  let done = 0;
  const rows = Array.from({ length: count }, (_, row) => row);
  const work = async () => void (done += 1);
  const stopped = { ...how, concurrency: 1, isHalted: () => done >= stopAfter };
  expect(await workThrough(rows, work, stopped)).toBe(left);
});
