import type pg from "pg";
import { KitError } from "../errors.ts";
import { connectionTo } from "./address.ts";
import type { PrismaClient } from "./client/client.ts";
import { createPool, inTransaction, lend, statement, type Queryable, type Statement } from "./connection.ts";
import { pendingMigrations } from "./migrate.ts";
import { refused } from "./retry.ts";

export { statement, type Queryable, type Statement } from "./connection.ts";
export { groupCommit, Overloaded } from "./group-commit.ts";
export { checkMigrations, HOW_TO_MIGRATE, migrate, MigrationFailed, throwInWords } from "./migrate.ts";
export { createOutageWatch } from "./outage-watch.ts";
export * from "./retry.ts";

export type DatabaseSettings = {
  /** `DATABASE_URL`. */
  url: string;
  /** Connections at most. */
  poolSize: number;
  /** `DATABASE_CA`: PEM, path or `no-verify`. */
  ca?: string | undefined;
  /** Called with every error but that of a caller who waits in vain for one of our own connections. */
  onError?(error: unknown): void;
};

/** Claims, compare-and-sets and the request path go through `query`; what else an operator reads, through Prisma. */
export type Database = Queryable & {
  /** Commits when `work` resolves, rolls back when it throws. Wait for nothing in it but the database. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** As `transaction`, planned for its values like any other SQL; each statement may take a minute. */
  planned<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** As `query`, for a read that goes through many rows: planned for its values, and it may take five minutes. */
  readWhole<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** The Prisma client; loaded when first asked for. */
  prisma(): Promise<PrismaClient>;
  /** Resolves if the database answers and takes writes; rejects with {@link TakesNoWrites} if it is read-only. */
  ping(): Promise<void>;
  /** The migrations that the database lacks, oldest first. */
  pendingMigrations(): Promise<string[]>;
  /** How many connections this process has, and how many callers wait for one. */
  connections(): { inUse: number; idle: number; waiting: number };
  /** Waits for what is under way, then closes every connection. Call it once, and last. */
  close(): Promise<void>;
};

/** The database answers, but every write to it fails: a standby, or a server made read-only for its full disk. */
class TakesNoWrites extends KitError {
  constructor() {
    super("database_read_only", "the database takes no writes: it is read-only");
  }
}

/**
 * Statements find their rows by key, so a generic plan, made once for each connection without the values, is right: it
 * saves PostgreSQL a quarter of what a provision costs it. But on a new service PostgreSQL would choose to scan the
 * tables, which are empty, and keep that plan while they grow; so scans, and joins that read a whole table, are off.
 * `planned` plans for its values, with all means. `random_page_cost`: its default of 4 stands for the seek of a disk.
 */
const BY_KEY =
  "-c plan_cache_mode=force_generic_plan -c random_page_cost=1.1 -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off";

const LONGEST_READ_MS = 300_000;
const LONGEST_PLANNED_MS = 60_000;
const beginPlanned = (upToMs: number) => `BEGIN; SET LOCAL statement_timeout = ${upToMs};
SET LOCAL plan_cache_mode = force_custom_plan;
SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on`;

const PING = statement("ping", `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly"`);

/**
 * Opens the PostgreSQL that the settings name. It is not connected to before the first query, so this succeeds while it
 * is down. Throws `Misconfigured` if the driver cannot read the address, or a file.
 */
export function openDatabase({ url, ca, poolSize, onError = () => {} }: DatabaseSettings): Database {
  const pool = createPool({ ...connectionTo(url, ca, BY_KEY), max: poolSize });
  let prisma: Promise<PrismaClient> | undefined;

  const connect = () =>
    pool.connect().catch((error: unknown) => {
      refused(error);
      if (pool.totalCount < poolSize) onError(error);
      throw error;
    });

  const query: Queryable["query"] = async (...asked) => {
    const client = await connect();
    try {
      return (await lend(client, (lent) => lent.query(...asked))) as never;
    } catch (error) {
      onError(error);
      throw error;
    }
  };

  const planned = async <T>(work: (tx: Queryable) => Promise<T>, upToMs: number) =>
    inTransaction(await connect(), work, beginPlanned(upToMs), { query_timeout: upToMs });

  return {
    query,
    transaction: async (work) => inTransaction(await connect(), work),
    planned: (work) => planned(work, LONGEST_PLANNED_MS),
    readWhole: (...asked) => planned((tx) => tx.query(...asked), LONGEST_READ_MS),
    prisma: () => (prisma ??= openPrisma(pool)),
    async ping() {
      const [answer] = await query<{ isReadOnly: boolean }>(PING);
      if (answer?.isReadOnly) throw new TakesNoWrites();
    },
    pendingMigrations: () => pendingMigrations({ query }),
    connections: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    async close() {
      await (await prisma)?.$disconnect();
      await pool.end();
    },
  };
}

async function openPrisma(pool: pg.Pool): Promise<PrismaClient> {
  const { PrismaClient } = await import("./client/client.ts");
  const { PrismaPg } = await import("@prisma/adapter-pg");
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}
