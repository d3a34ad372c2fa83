import type { OnProgress } from "./progress.ts";

/** Does `work` with every row, `concurrency` of them at once, until there are no more or `isHalted` says stop. */
export async function workThrough<Row>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  work: (row: Row) => Promise<void>,
  {
    concurrency,
    total,
    isHalted,
    onProgress,
  }: { concurrency: number; total: number; isHalted(): boolean; onProgress?: OnProgress | undefined },
): Promise<void> {
  // One source for all who work: each takes the next row when it is free.
  const each = (async function* () {
    yield* rows;
  })();
  let seen = 0;

  async function worker(): Promise<void> {
    while (!isHalted()) {
      const { value: row, done } = await each.next();
      if (done) return;
      await work(row);
      onProgress?.((seen += 1), total);
    }
  }

  onProgress?.(0, total);
  await Promise.all(Array.from({ length: concurrency }, worker));
}
