import type { OnProgress } from "./progress.ts";

/**
 * Does `work` with every row, `concurrency` of them at once, until there are no more or `isHalted` says stop. Answers how
 * many of `total` are left then. Throws what `rows` or `work` throws, when nothing is under way any more: whoever hears of
 * it may close what the others work with.
 */
export async function workThrough<Row>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  work: (row: Row) => Promise<void>,
  {
    concurrency,
    total,
    isHalted,
    onProgress,
  }: { concurrency: number; total: number; isHalted(): boolean; onProgress?: OnProgress | undefined },
): Promise<number> {
  // One source for all who work: each takes the next row when it is free.
  const each = (async function* () {
    yield* rows;
  })();
  let seen = 0;
  let isThrough = false;

  async function worker(): Promise<void> {
    while (!isHalted()) {
      const { value: row, done } = await each.next();
      if (done) return void (isThrough = true);
      await work(row);
      seen += 1;
      onProgress?.(seen, total);
    }
  }

  onProgress?.(0, total);
  const ends = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  const broken = ends.find((end) => end.status === "rejected");
  if (broken) throw broken.reason;
  if (isThrough) return 0;
  // More may have come since they were counted.
  return total > seen ? total - seen : Number(!(await each.next()).done);
}
