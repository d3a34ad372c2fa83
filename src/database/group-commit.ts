import { isDataError, isHeldUp } from "./retry.ts";

type Needs<Ctx, Row, Result> = {
  /** Writes all rows with one statement; one result per row, in their order. Two rows may concern the same thing. */
  write(ctx: Ctx, rows: Row[]): Promise<Result[]>;
  /** Whether its caller was already answered or refused: the row is not sent then. */
  isTooLate?(row: Row): boolean;
};

type Waiting<Row, Result> = { row: Row; resolve(result: Result): void; reject(error: unknown): void };

/** In one statement. */
const MOST_ROWS = 200;
/** This many rows are sent at once. If they waited for more, PostgreSQL and this process would wait in turns. */
const ENOUGH = 16;
/** How long fewer rows wait while {@link MANY} are being written: for more of them, or for those to end. */
const BEHIND_MS = 2;
const MANY = 10;
/** Statements in flight at once: PostgreSQL has work while one commits, another waits for a lock and a batch gathers. */
const MOST_FLUSHES = 3;

/**
 * The rows that arrive within one turn of the event loop, or while many others are being written, are written by one
 * statement; each caller is answered once its own row is durable. Each context has a queue.
 *
 * One row cannot fail its neighbours: if PostgreSQL refuses a batch for its data, or for a lock or a conflict with
 * another transaction, each row is tried alone. Any other error rejects all callers of the batch.
 */
export function groupCommit<Ctx extends object, Row, Result>(needs: Needs<Ctx, Row, Result>) {
  const queues = new WeakMap<Ctx, (row: Row) => Promise<Result>>();
  return (ctx: Ctx, row: Row): Promise<Result> => {
    let add = queues.get(ctx);
    if (!add) queues.set(ctx, (add = aQueue(ctx, needs)));
    return add(row);
  };
}

function aQueue<Ctx, Row, Result>(ctx: Ctx, { write, isTooLate }: Needs<Ctx, Row, Result>) {
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
    // Nobody waits for the others any more (see `retryWhileUnreachable`), so they are never settled.
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
      const isOfOne = isDataError(error) || isHeldUp(error);
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

/** For each row, in order, whether the database returned it: two rows of one batch may be of the same thing. */
export function areAmong(rows: readonly Claim[], returned: readonly Claim[]): boolean[] {
  const claims = new Set(returned.map(({ uuid, lease }) => `${uuid} ${lease}`));
  return rows.map(({ uuid, lease }) => claims.has(`${uuid} ${lease}`));
}
