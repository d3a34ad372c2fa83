import { KitError } from "../errors.ts";
import { isConflict, isDataError, isLockTimeout } from "./failure.ts";
import { deadlinePassed, hasPassed, type Deadline } from "./retry.ts";

/** More rows are waiting to be written than this process is willing to hold. */
export class Overloaded extends KitError {
  constructor(queued: number) {
    super("overloaded", `${queued} rows are waiting for the database already`);
  }
}

type Needs<Row, Result> = {
  /** Writes all rows with one statement; one result per row, in their order. Two rows may concern the same thing. */
  write(rows: Row[]): Promise<Result[]>;
  /** The deadline of a row's caller: the row is not sent after it. Without this, rows are sent however late. */
  deadlineOf?(row: Row): Deadline;
  /** Whether rows of a batch that failed with this error are tried alone. Of a read's errors, only those of its data. */
  isWorthAlone?(error: unknown): boolean;
  /** At most this many rows in one statement. */
  maxRows?: number;
  /** At most this many rows waiting, those being written not counted. */
  maxQueued?: number;
  /** At most this many statements in flight at the same time. */
  maxFlushes?: number;
  /** This many rows are sent at once. If they waited for more, PostgreSQL and this process would wait in turns. */
  enough?: number;
  /** How long a smaller batch waits behind {@link MANY} rows for them to finish, in ms: a locked row may hold them up. */
  behindMs?: number;
};

type Waiting<Row, Result> = { row: Row; resolve(result: Result): void; reject(error: unknown): void };

/** While this many rows are being written, others wait: for more of them, or for those to finish. */
const MANY = 10;

/**
 * Group commit: the rows that arrive within one turn of the event loop, or while many others are being written, are
 * written by one statement, and each caller is answered after the commit of its own row. With three statements in
 * flight PostgreSQL has work while one commits and the next batch gathers.
 *
 * One row cannot fail its neighbours: if PostgreSQL refuses a batch for its data, or for a lock or a conflict with
 * another transaction, each row is tried alone. Any other error rejects all callers of the batch.
 *
 * @returns a function that resolves once the row is durable; it rejects with Overloaded when too many rows are waiting
 */
export function createGroupCommit<Row, Result>({
  write,
  deadlineOf,
  isWorthAlone = (error) => isDataError(error) || isLockTimeout(error) || isConflict(error),
  maxRows = 200,
  maxQueued = 10_000,
  maxFlushes = 3,
  enough = 16,
  behindMs = 2,
}: Needs<Row, Result>) {
  const queue: Waiting<Row, Result>[] = [];
  const fullBatch = Math.min(enough, maxRows);
  let flushes = 0;
  let underWay = 0;
  let soon: NodeJS.Immediate | null = null;
  let later: NodeJS.Timeout | null = null;

  function schedule(): void {
    if (queue.length === 0 || flushes >= maxFlushes) return;
    if (queue.length >= fullBatch) flush();
    else if (underWay < MANY) soon ??= setImmediate(flush);
    else later ??= setTimeout(flush, behindMs);
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

  /** Asked just before rows are sent: none may be written after its caller was told that its deadline has passed. */
  function stillWanted(rows: Waiting<Row, Result>[]): Waiting<Row, Result>[] {
    if (!deadlineOf) return rows;
    return rows.filter(({ row, reject }) => {
      const deadline = deadlineOf(row);
      if (!hasPassed(deadline)) return true;
      reject(deadlinePassed(deadline));
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
      if (batch.length > 1 && isWorthAlone(error)) {
        if (deadlineOf) for (const { row } of batch) deadlineOf(row).trouble = error;
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

/**
 * The same as a plain function of a context, for statements of a store: each context (a process has one) has a queue of
 * its own.
 */
export function groupCommit<Ctx extends object, Row, Result>({
  write,
  ...needs
}: Omit<Needs<Row, Result>, "write"> & {
  write(ctx: Ctx, rows: Row[]): Promise<Result[]>;
}): (ctx: Ctx, row: Row) => Promise<Result> {
  const commits = new WeakMap<Ctx, (row: Row) => Promise<Result>>();
  return (ctx, row) => {
    let commit = commits.get(ctx);
    if (!commit) {
      commit = createGroupCommit({ ...needs, write: (rows) => write(ctx, rows) });
      commits.set(ctx, commit);
    }
    return commit(row);
  };
}
