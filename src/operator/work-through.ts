import { retryWhileDatabaseAway } from "../database/database.ts";

/** Called while long work makes progress. `total` may grow meanwhile. */
export type OnProgress = (done: number, total: number) => void;

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

/**
 * All rows, in the order of their uuids, page by page (keyset pagination): however many there are, no statement is long.
 * `readPage` reads the rows after a uuid, or the first ones for null, and answers none only at the end.
 */
export async function* rowsByUuid<Row extends { uuid: string }>(
  readPage: (after: string | null) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let after: string | null = null;
  for (;;) {
    const here: string | null = after;
    const rows: Row[] = await retryWhileDatabaseAway(() => readPage(here));
    if (rows.length === 0) return;
    yield* rows;
    after = rows.at(-1)!.uuid;
  }
}
