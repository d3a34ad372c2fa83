import type pg from "pg";
import { leavesConnectionSound } from "./failure.ts";

/** One SQL statement with a name of its own, under which PostgreSQL parses it once per connection. */
export type Statement = { readonly name: string; readonly text: string };

/** Whatever can run a statement: the database, or a transaction on it. */
export type Queryable = {
  /**
   * Runs one statement and gives its rows. Arrays become PostgreSQL arrays (for `unnest`), also of `Buffer`, `Date` and
   * null. `bigint` columns come back as numbers, `timestamptz` as `Date`, `bytea` as `Buffer`.
   *
   * @throws pg.DatabaseError or the driver's own errors; `isTransient` tells which are worth another try.
   */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
};

/** Names a statement. PostgreSQL's logs and statistics show the name, so it should say what the statement is for. */
export function statement(name: string, text: string): Statement {
  return { name, text };
}

type Limits = { query_timeout?: number };

/** Runs one statement on a connection. Parsing a named one only once saves PostgreSQL a quarter of the work. */
export async function send<Row>(
  client: pg.ClientBase,
  { name, text }: Statement,
  values: readonly unknown[] = [],
  limits: Limits = {},
): Promise<Row[]> {
  return (await client.query({ name, text, values: [...values], ...limits })).rows as Row[];
}

/**
 * Runs `work` in one transaction on `client`, which it releases: committed when `work` resolves, rolled back when it
 * throws. Keep it short, and wait for nothing in it but the database.
 */
export async function inTransaction<T>(
  client: pg.PoolClient,
  work: (tx: Queryable) => Promise<T>,
  begin = "BEGIN",
  limits: Limits = {},
): Promise<T> {
  let isBroken = false;
  const watched = async <R>(sent: Promise<R>): Promise<R> => {
    try {
      return await sent;
    } catch (error) {
      isBroken ||= !leavesConnectionSound(error);
      throw error;
    }
  };
  try {
    await watched(client.query(begin));
    const result = await work({ query: (one, values) => watched(send(client, one, values, limits)) });
    const { command } = await watched(client.query("COMMIT"));
    // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and no error. That must not pass for success
    // when `work` has swallowed the error of its statement.
    if (command !== "COMMIT") throw new Error("rolled back: a statement in the transaction had failed");
    return result;
  } catch (error) {
    if (!isBroken) await watched(client.query("ROLLBACK")).catch(() => undefined);
    throw error;
  } finally {
    // A connection in doubt is dropped: PostgreSQL rolls back what it left open.
    client.release(isBroken);
  }
}
