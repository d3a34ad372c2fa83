import pg from "pg";

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

/** A pool whose connections are made when first needed. */
export function createPool(address: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    application_name: "addon-service",
    ...PATIENCE,
    keepAlive: true,
    types: rowValues,
    ...address,
  });
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

/**
 * The driver's parsers, but with `bigint` (our serial ids, and every `count(*)`) as a number instead of a string. Given
 * to our connections only: Prisma uses the driver's global parsers and reads a BigInt in its own way.
 */
const rowValues = new pg.TypeOverrides();
rowValues.setTypeParser(pg.types.builtins.INT8, wholeNumber);

function wholeNumber(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new RangeError(`a bigint beyond what a number holds exactly: ${value}`);
  return number;
}
