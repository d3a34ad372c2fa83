import type pg from "pg";
import { leavesConnectionSound } from "./failure.ts";
import type { Queryable, Statement } from "./statement.ts";

/** Sends one statement over one connection. */
export type Send = <Row>(
  client: pg.PoolClient,
  statement: Statement,
  values?: readonly unknown[],
) => Promise<Row[]>;

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. Keep it short, and wait for
 * nothing in it but the database: on the embedded database all other clients wait meanwhile.
 */
export async function inTransaction<T>(
  connect: () => Promise<pg.PoolClient>,
  send: Send,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const client = await connect();
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
    await watched(client.query("BEGIN"));
    const result = await work({ query: (statement, values) => watched(send(client, statement, values)) });
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
