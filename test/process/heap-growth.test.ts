import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";

// Heap limits as on a machine with much memory, whatever this one has.
const PLENTY = "--max-old-space-size=4096";
/** The option of `npm start` and the Procfile. */
const NURSERY = "--max-semi-space-size=32";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

/** The largest heap, in MB, of a process with 80 MB of live objects that are continually replaced. */
function largestHeap(before: string): number {
  const script = `
    ${before}
    const alive = new Array(800_000);
    let largest = 0;
    for (let i = 0; i < 6_000_000; i++) {
      alive[i % alive.length] = { i, text: "x" + i };
      if (i % 50_000 === 0) largest = Math.max(largest, process.memoryUsage().heapTotal);
    }
    console.log(largest / 1e6);`;
  const tsx = ["--import", "tsx", "--input-type=module"];
  return Number(
    execFileSync(process.execPath, [PLENTY, NURSERY, ...tsx, "-e", script], { encoding: "utf8" }),
  );
}

it("growHeapSlowly keeps the heap close to the size of its live objects", () => {
  const grown = largestHeap("");
  const slowly = largestHeap(
    `const { growHeapSlowly } = await import("./src/process/heap-growth.ts"); growHeapSlowly();`,
  );
  expect(slowly).toBeLessThan(grown * 0.8);
});

// Node 24 lets it grow to 134 MB.
it("every start command limits the size of the heap's young generation", () => {
  const started = [read("Procfile"), read("package.json")].join("\n").match(/node .*dist\/(web|worker)\.js/g);
  expect(started).toEqual([...started!].map(() => expect.stringContaining(NURSERY)));
  expect(started).toHaveLength(4);
});
