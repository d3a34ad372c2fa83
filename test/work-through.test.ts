import { expect, it } from "@jest/globals";
import { setTimeout as wait } from "node:timers/promises";
import { workThrough } from "../src/operator/work-through.ts";

const how = { concurrency: 2, total: 3, isHalted: () => false };

it("Work through many rows that breaks off, for the next ones cannot be read, first ends what it began", async () => {
  const ended: number[] = [];
  async function* rows() {
    yield 1;
    yield 2;
    await wait(50);
    throw new Error("the next page cannot be read");
  }
  const work = async (row: number) => {
    await wait(row * 100);
    ended.push(row);
  };
  await expect(workThrough(rows(), work, how)).rejects.toThrow("the next page cannot be read");
  expect(ended).toEqual([1, 2]);
});
