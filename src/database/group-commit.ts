import { isConflict, isDataError } from "./retry.ts";

type Needs<Ctx, Row, Result> = {
  /** Writes all rows with one statement. Returns one result for each row, in order. Two rows may have the same key. */
  write(ctx: Ctx, rows: Row[]): Promise<Result[]>;
  /** Whether the row's caller was already answered or refused. The row is then not sent. */
  isTooLate?(row: Row): boolean;
};

type Waiting<Row, Result> = { row: Row; resolve(result: Result): void; reject(error: unknown): void };

/** The most rows of one statement. */
const MOST_ROWS = 200;
/** This many rows are sent without delay. A longer wait would leave PostgreSQL idle while rows gather. */
const ENOUGH = 16;
/** While at least {@link MANY} rows are being written, fewer than {@link ENOUGH} rows wait this long for more rows. */
const BEHIND_MS = 2;
const MANY = 10;
/** The most concurrent statements. PostgreSQL has work while one commits, one waits for a lock and a batch gathers. */
const MOST_FLUSHES = 3;

/**
 * Batches writes: one statement writes the rows that arrive within one turn of the event loop, or while many others are
 * being written. Each caller gets its result once its row is committed. Each context has its own queue.
 *
 * A row cannot fail other rows: if PostgreSQL refuses a batch for its data, or for a lock or a conflict with another
 * transaction, each row is retried alone. Any other error rejects all callers of the batch.
 */
export function groupCommit<Ctx extends object, Row, Result>(needs: Needs<Ctx, Row, Result>) {
  const queues = new WeakMap<Ctx, (row: Row) => Promise<Result>>();
  return (ctx: Ctx, row: Row): Promise<Result> => {
    let add = queues.get(ctx);
    if (!add) queues.set(ctx, (add = createQueue(ctx, needs)));
    return add(row);
  };
}

function createQueue<Ctx, Row, Result>(ctx: Ctx, { write, isTooLate }: Needs<Ctx, Row, Result>) {
  const queue: Waiting<Row, Result>[] = [];
  let flushes = 0;
  let underWay = 0;
  let soon: NodeJS.Immediate | undefined;
  let later: NodeJS.Timeout | undefined;

  function schedule(): void {
    if (queue.length === 0 || flushes >= MOST_FLUSHES) return;
    if (queue.length >= ENOUGH) flush();
    else if (underWay < MANY) soon ??= setImmediate(flush);
    else later ??= setTimeout(flush, BEHIND_MS);
  }

  function flush(): void {
    clearImmediate(soon);
    clearTimeout(later);
    soon = later = undefined;
    const rows = queue.splice(0, MOST_ROWS);
    flushes += 1;
    underWay += rows.length;
    schedule();
    void settle(rows).finally(() => {
      flushes -= 1;
      underWay -= rows.length;
      schedule();
    });
  }

  async function settle(rows: Waiting<Row, Result>[]): Promise<void> {
    // The other rows are too late: their callers no longer wait (see `retryWhileUnreachable`).
    const batch = rows.filter(({ row }) => !isTooLate?.(row));
    if (batch.length === 0) return;
    try {
      const results = await write(
        ctx,
        batch.map(({ row }) => row),
      );
      if (results.length !== batch.length)
        throw new Error(`${results.length} results for ${batch.length} rows`);
      batch.forEach(({ resolve }, i) => resolve(results[i] as Result));
    } catch (error) {
      const isOfOne = isDataError(error) || isConflict(error);
      if (batch.length === 1 || !isOfOne) return batch.forEach(({ reject }) => reject(error));
      for (const one of batch) await settle([one]);
    }
  }

  return (row: Row): Promise<Result> =>
    new Promise((resolve, reject) => {
      queue.push({ row, resolve, reject });
      schedule();
    });
}

type Claim = { uuid: string; lease: number };

/** For each row, in order, whether the database returned its uuid with its lease: two rows may have the same uuid. */
export function areAmong(rows: readonly Claim[], returned: readonly Claim[]): boolean[] {
  const claims = new Set(returned.map(({ uuid, lease }) => `${uuid} ${lease}`));
  return rows.map(({ uuid, lease }) => claims.has(`${uuid} ${lease}`));
}
