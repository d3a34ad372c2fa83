// The SQL that all queues share (`steps`, `credentials`, `your_jobs`). A row falls due at `due_at`. One process at a time
// holds a row: its claim raises the lease number `lease` and sets `leased_until`. Every statement after the claim names
// the lease number, so a process whose lease was taken writes no row. All times are the database's.

/** How often a working process extends its lease. A process whose lease was taken notices it after as long. */
export const HOLD_EVERY_MS = 3_000;
/** Within this time a living process has extended its leases or noticed that a lease was taken. */
export const NOTICED_MS = HOLD_EVERY_MS + 2_000;
/** SQL: the time at which every process has noticed a lease that is taken now. */
export const NOTICED = `now() + interval '${NOTICED_MS / 1_000} seconds'`;

/** SQL condition: no process holds the row. `pause`: SQL interval that must pass after the end of the last lease. */
export function isFree(row: string, pause?: string): string {
  const end = pause === undefined ? `${row}.leased_until` : `${row}.leased_until + ${pause}`;
  return `(${row}.leased_until IS NULL OR ${end} <= now())`;
}

/** SQL assignments of a claim. */
export function take(row: string, seconds: number): string {
  return `lease = ${row}.lease + 1, ${hold(seconds)}`;
}

/** SQL assignment that extends a lease to its full length from now on. */
export function hold(seconds: number): string {
  return `leased_until = now() + interval '${seconds} seconds'`;
}

/**
 * SQL: the keys of the rows to claim: the first `:most` rows for which `where` holds. The keys are an array because the
 * sub-select then runs once under every plan. The planner does not see the value of `:most`; `atMost` shows it that few
 * rows are wanted. At most `:most` rows are locked.
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
 * SQL: `seconds` until the next row falls due. A row that has been due for more than a second is left out: something
 * blocks it, such as another process or a rejected secret, and the next tick tries it again.
 */
export function nextDue(table: string, where: string): string {
  return `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM ${table}
   WHERE ${where} AND due_at > now() - interval '1 second'`;
}

export type NextDue = { seconds: number | null };
