import type { OnProgress } from "./progress.ts";

/**
 * Calls `work` with every row, `concurrency` rows at once, until there are no more or `isHalted` answers true. Answers
 * how many of `total` are left. If `rows` or `work` throws, it throws that error only when no work is in progress any
 * more: so the caller may close what `work` uses.
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
  // All workers share one iterator: each takes the next row when it is free.
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
  // Rows may have been added since `total` was counted: if there is another one, at least one is left.
  return total > seen ? total - seen : Number(!(await each.next()).done);
}
