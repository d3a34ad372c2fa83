import type pg from "pg";
import { leavesConnectionSound } from "./failure.ts";
import type { Queryable, Statement } from "./statement.ts";

/** PostgreSQL parses a named statement once per connection, which saves it a quarter of the work. */
export async function send<Row>(
  client: pg.ClientBase,
  { name, text }: Statement,
  values: readonly unknown[] = [],
  limits: { query_timeout?: number } = {},
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
  limits: { query_timeout?: number } = {},
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
    await commit(watched(client.query("COMMIT")));
    return result;
  } catch (error) {
    if (!isBroken) await watched(client.query("ROLLBACK")).catch(() => undefined);
    throw error;
  } finally {
    // A connection in doubt is dropped: PostgreSQL rolls back what it left open.
    client.release(isBroken);
  }
}

/**
 * PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and no error. That must not pass for success when
 * `work` has swallowed the error of its statement.
 */
async function commit(sent: Promise<pg.QueryResult>): Promise<void> {
  const { command } = await sent;
  if (command !== "COMMIT") throw new Error("rolled back: a statement in the transaction had failed");
}
