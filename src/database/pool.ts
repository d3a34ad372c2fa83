import pg from "pg";
import { rowValues } from "./row-values.ts";

/** How long the service waits for the database, in ms. The server's own limits end what a lost client left running. */
const PATIENCE = {
  connectionTimeoutMillis: 2000,
  query_timeout: 3000,
  statement_timeout: 3000,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: 10_000,
};

/** A pool of connections that are made when first needed. `connection` says where to, and may shorten the patience. */
export function createPool(connection: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    application_name: "addon-service",
    ...PATIENCE,
    keepAlive: true,
    types: rowValues,
    ...connection,
  });
  // A connection that dies (a restart, a failover, an administrator) emits an error, and one that nobody hears would
  // end the process. Whoever was using it is told by his query; the pool has dropped it already.
  pool.on("error", ignore).on("connect", (client) => void client.on("error", ignore));
  // Prisma gives back a connection whose ROLLBACK went unanswered. What the next one wrote in that transaction would
  // be lost without an error.
  return pool.on("release", (_, client) => {
    if (isInTransaction(client)) client.end().catch(ignore);
  });
}

function isInTransaction(client: pg.PoolClient): boolean {
  const status = client.getTransactionStatus();
  return status === "T" || status === "E";
}

function ignore(): void {}
