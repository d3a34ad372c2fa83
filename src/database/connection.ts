import pg from "pg";
import { leavesConnectionSound } from "./retry.ts";

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

/**
 * How long the service waits for the database, in ms. The server's limits (the last three) end what a lost client left.
 */
const PATIENCE = {
  connectionTimeoutMillis: 2000,
  query_timeout: 3000,
  statement_timeout: 3000,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: 10_000,
};

/**
 * The driver's parsers, but with `bigint` (our serial ids, and every `count(*)`) as a number instead of a string. Given
 * to our connections only: Prisma uses the driver's global parsers and reads a BigInt in its own way.
 */
const rowValues = new pg.TypeOverrides();
rowValues.setTypeParser(pg.types.builtins.INT8, (value) => {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new RangeError(`a bigint beyond what a number holds exactly: ${value}`);
  return number;
});

/** A pool whose connections are made when first needed. */
export function createPool(address: pg.PoolConfig): pg.Pool {
  const ours = { application_name: "addon-service", ...PATIENCE, keepAlive: true, types: rowValues };
  const pool = new pg.Pool({ ...ours, ...address });
  // A connection that dies emits an error, which would end the process if nobody listened. The caller that was using it
  // gets an error from its query; the pool has dropped the connection already.
  pool.on("error", ignore).on("connect", (client) => void client.on("error", ignore));
  // Prisma may release a connection whose ROLLBACK was not answered, with the transaction still open. What the next
  // caller wrote in that transaction would be lost without an error, so the connection is closed.
  return pool.on("release", (_, client) => {
    if (["T", "E"].includes(client.getTransactionStatus() ?? "")) client.end().catch(ignore);
  });
}

function ignore(): void {}

/** Limits of the driver that differ from the pool's. */
type Limits = { query_timeout?: number };

/** A connection while somebody has it. */
interface Lent extends Queryable {
  isBroken: boolean;
  send(query: pg.QueryConfig): Promise<pg.QueryResult>;
}

/** Lends a connection of the pool to `work`; if an error leaves it in doubt it is dropped afterwards. */
export async function lend<T>(
  client: pg.PoolClient,
  work: (lent: Lent) => Promise<T>,
  limits: Limits = {},
): Promise<T> {
  const lent: Lent = {
    isBroken: false,
    async send(query) {
      try {
        return await client.query(query);
      } catch (error) {
        lent.isBroken ||= !leavesConnectionSound(error);
        throw error;
      }
    },
    // Parsing a named statement only once saves PostgreSQL a quarter of the work.
    query: async ({ name, text }, values = []) =>
      (await lent.send({ name, text, values: [...values], ...limits })).rows as never,
  };
  try {
    return await work(lent);
  } finally {
    client.release(lent.isBroken);
  }
}

/** Runs `work` in one transaction on `client`: committed when it resolves, rolled back when it throws. */
export function inTransaction<T>(
  client: pg.PoolClient,
  work: (tx: Queryable) => Promise<T>,
  begin = "BEGIN",
  limits?: Limits,
): Promise<T> {
  const transaction = async (lent: Lent) => {
    try {
      await lent.send({ text: begin });
      const result = await work(lent);
      const { command } = await lent.send({ text: "COMMIT" });
      // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and no error. That must not pass for success
      // when `work` has swallowed the error of its statement.
      if (command !== "COMMIT") throw new Error("rolled back: a statement in the transaction had failed");
      return result;
    } catch (error) {
      if (!lent.isBroken) await lent.send({ text: "ROLLBACK" }).catch(ignore);
      throw error;
    }
  };
  return lend(client, transaction, limits);
}
