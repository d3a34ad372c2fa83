import { KitError } from "../errors.ts";
import { isConflict, isFaultOfData, isLocked } from "./failure.ts";
import { inVain, isOver, type Wait } from "./waiting.ts";

/** More rows are waiting to be written than we are willing to hold. */
export class Overloaded extends KitError {
  constructor(queued: number) {
    super("overloaded", `${queued} rows are waiting for the database already`);
  }
}

type Needs<Row, Result> = {
  /** Writes all rows with one statement; one result per row, in their order. Two rows may be about the same thing. */
  write(rows: Row[]): Promise<Result[]>;
  /** Who waits for a row: when that is over, it is not sent any more. Without this each is, however late it gets. */
  waitOf?(row: Row): Wait;
  /** At most this many rows in one statement. */
  maxRows?: number;
  /** At most this many rows waiting, those being written not counted. */
  maxQueued?: number;
  /** Statements on their way at the same time. */
  maxFlushes?: number;
};

type Waiting<Row, Result> = { row: Row; resolve(result: Result): void; reject(error: unknown): void };

/**
 * So many rows are worth a statement of their own, at once: to wait for more would have all requests of one moment
 * written together, and then PostgreSQL wait for us while we wait for it.
 */
const ENOUGH = 10;

/** Fewer, while as many are under way, wait for those to end or for so long: a locked row may hold them up. */
const BEHIND_ANOTHER_MS = 2;

/**
 * Many callers, one statement: the rows that arrive within one turn of the event loop, or while many others are under
 * way, are committed together, and each caller is answered after the commit of its own row. With few callers it costs
 * nothing, and under load one commit serves a dozen. With three statements under way PostgreSQL has work while one
 * commits and the next batch gathers.
 *
 * One row cannot fail its neighbours: if PostgreSQL refuses a batch for its data, or somebody holds a row or stands in
 * its way, each row is tried alone. Any other error is told to all of the batch.
 *
 * A row whose caller is told that it waited in vain must not appear afterwards, when nobody expects it: where `waitOf`
 * says who waits, each row is looked at once more before it is sent, in a batch and alone.
 *
 * @returns a function that resolves once the row is durable; it throws Overloaded when too many are waiting
 */
export function createGroupCommit<Row, Result>({
  write,
  waitOf,
  maxRows = 200,
  maxQueued = 10_000,
  maxFlushes = 3,
}: Needs<Row, Result>) {
  const queue: Waiting<Row, Result>[] = [];
  const enough = Math.min(ENOUGH, maxRows);
  let flushes = 0;
  let underWay = 0;
  let soon: NodeJS.Immediate | null = null;
  let later: NodeJS.Timeout | null = null;

  function schedule(): void {
    if (queue.length === 0 || flushes >= maxFlushes) return;
    if (queue.length >= enough) flush();
    else if (underWay < enough) soon ??= setImmediate(flush);
    else later ??= setTimeout(flush, BEHIND_ANOTHER_MS);
  }

  function flush(): void {
    if (soon) clearImmediate(soon);
    if (later) clearTimeout(later);
    soon = later = null;
    const batch = queue.splice(0, maxRows);
    flushes += 1;
    underWay += batch.length;
    schedule();
    void settle(batch).finally(() => {
      flushes -= 1;
      underWay -= batch.length;
      schedule();
    });
  }

  function stillWanted(rows: Waiting<Row, Result>[]): Waiting<Row, Result>[] {
    if (!waitOf) return rows;
    return rows.filter(({ row, reject }) => {
      const wait = waitOf(row);
      if (!isOver(wait)) return true;
      reject(inVain(wait));
      return false;
    });
  }

  async function settle(rows: Waiting<Row, Result>[]): Promise<void> {
    const batch = stillWanted(rows);
    if (batch.length === 0) return;
    try {
      const results = await write(batch.map(({ row }) => row));
      if (results.length !== batch.length)
        throw new Error(`${results.length} results for ${batch.length} rows`);
      batch.forEach(({ resolve }, i) => resolve(results[i] as Result));
    } catch (error) {
      if (batch.length > 1 && (isFaultOfData(error) || isLocked(error) || isConflict(error))) {
        if (waitOf) for (const { row } of batch) waitOf(row).trouble = error;
        for (const one of batch) await settle([one]);
      } else batch.forEach(({ reject }) => reject(error));
    }
  }

  return (row: Row): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (queue.length >= maxQueued) return reject(new Overloaded(queue.length));
      queue.push({ row, resolve, reject });
      schedule();
    });
}
