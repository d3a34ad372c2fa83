// The words of every queue (`steps`, `credentials`, `your_jobs`): its rows fall due at `due_at`, and one process at a time
// holds a row: the claim raises `lease` and sets `leased_until`. What is written after a claim names the lease number, so
// a process that was overtaken writes nothing. All times are the database's.

/** How often a process extends a lease while it works; as soon it notices that the lease was taken away. */
export const HOLD_EVERY_MS = 3_000;
/** In this time a process has extended its leases, or has noticed that one was taken away. */
export const NOTICED_MS = HOLD_EVERY_MS + 2_000;
/** SQL: when it has. */
export const NOTICED = `now() + interval '${NOTICED_MS / 1_000} seconds'`;

/** SQL condition: no process holds the row; `pause`: an interval after the end of a lease in which the row rests. */
export function isFree(row: string, pause?: string): string {
  const end = pause === undefined ? `${row}.leased_until` : `${row}.leased_until + ${pause}`;
  return `(${row}.leased_until IS NULL OR ${end} <= now())`;
}

/** SQL assignments of a claim. */
export function take(row: string, seconds: number): string {
  return `lease = ${row}.lease + 1, ${hold(seconds)}`;
}

/** SQL assignment that makes a lease as long as a new one. */
export function hold(seconds: number): string {
  return `leased_until = now() + interval '${seconds} seconds'`;
}

/**
 * SQL: the keys of the rows to claim, the first `:most` of those for which `where` holds. An array, so that the
 * sub-select runs once, whatever the planner chooses. `atMost` tells the planner, which does not see `:most`, that few
 * rows are wanted; no more rows than `:most` are locked.
 */
export function firstOf<Where extends string>(from: {
  key: string;
  table: string;
  where: Where;
  order: string;
  atMost: number;
}) {
  const { key, table, where, order, atMost } = from;
  return `ARRAY(SELECT ${key} FROM (
    SELECT due.${key} FROM ${table} due WHERE ${where}
    ORDER BY due.${order} LIMIT ${atMost} FOR UPDATE SKIP LOCKED) few LIMIT :most)` as `${string}${Where}${string}:most${string}`;
}

/**
 * SQL: `seconds` until the next row falls due. A row that was due more than a second ago is held back by something
 * (another process, a rejected secret), and waits for the next tick.
 */
export function nextDue(table: string, where: string): string {
  return `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM ${table}
   WHERE ${where} AND due_at > now() - interval '1 second'`;
}

export type NextDue = { seconds: number | null };
