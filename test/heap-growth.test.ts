import { execFileSync } from "node:child_process";
import { expect, it } from "@jest/globals";

// As on a machine with plenty of memory, whatever this one has.
const PLENTY = "--max-old-space-size=4096";

/** The largest heap, in MB, of a process in which 40 MB are alive, and each of its objects is soon another. */
function largestHeap(before: string): number {
  const script = `
    ${before}
    const alive = new Array(400_000);
    let largest = 0;
    for (let i = 0; i < 8_000_000; i++) {
      alive[i % alive.length] = { i, text: "x" + i };
      if (i % 50_000 === 0) largest = Math.max(largest, process.memoryUsage().heapTotal);
    }
    console.log(largest / 1e6);`;
  const tsx = ["--import", "tsx", "--input-type=module"];
  return Number(execFileSync(process.execPath, [PLENTY, ...tsx, "-e", script], { encoding: "utf8" }));
}

it("a heap does not grow far beyond what is alive in it", () => {
  const grown = largestHeap("");
  const slowly = largestHeap(
    `const { growHeapSlowly } = await import("./src/heap-growth.ts"); growHeapSlowly();`,
  );
  expect(slowly).toBeLessThan(grown * 0.8);
});
