import { readFileSync } from "node:fs";
import pg from "pg";
import { parse } from "pg-connection-string";
import { KitError, Misconfigured } from "../errors.ts";
import type { PrismaClient } from "./client/client.ts";
import { isPlanOutdated, leavesConnectionSound, refused } from "./retry.ts";

export * from "./retry.ts";

/** One SQL statement with a name of its own, under which PostgreSQL parses it once per connection, and shows it. */
export type Statement = { readonly name: string; readonly text: string };

/** The database, or a transaction on it. */
export type Queryable = {
  /**
   * Arrays become PostgreSQL arrays (for `unnest`). `bigint` columns come back as numbers.
   *
   * @throws pg.DatabaseError or the driver's own errors; `isTransient` tells which are worth another try.
   */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
};

export function statement(name: string, text: string): Statement {
  return { name, text };
}

export type DatabaseSettings = {
  url: string;
  poolSize: number;
  /** PEM, path or `no-verify`. */
  ca?: string | undefined;
  /** Called with errors of connecting, but not of a wait for one of our own connections, and of `query`. */
  onError?(error: unknown): void;
  /** Called with the error of each statement, in transactions too; not of Prisma's. */
  onFailed?(error: unknown, failed: Statement): void;
};

/** Claims, compare-and-sets and the request path go through `query`; what else an operator reads, through Prisma. */
export type Database = Queryable & {
  /** Commits when `work` resolves, rolls back when it throws. Wait for nothing in it but the database. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** As `transaction`, planned for its values like any other SQL; each statement may take five minutes. */
  planned<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** As `query`, in such a transaction: for a read that goes through many rows. */
  readWhole<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  prisma(): Promise<PrismaClient>;
  /** Resolves if the database answers and takes writes; rejects if it is read-only: a standby, or a full disk. */
  ping(): Promise<void>;
  /** How many connections this process has, and how many callers wait for one. */
  connections(): { inUse: number; idle: number; waiting: number };
  /** Waits for what is under way, then closes every connection. Call it once, and last. */
  close(): Promise<void>;
};

/**
 * Statements find their rows by key, so a generic plan, made once for each connection without the values, is right: it
 * saves PostgreSQL a quarter of what a provision costs it. But on a new service PostgreSQL would choose to scan the
 * tables, which are empty, and keep that plan while they grow; so scans, and joins that read a whole table, are off.
 * `planned` plans for its values, with all means. `random_page_cost`: its default of 4 stands for the seek of a disk.
 * `jit`: a scan that cannot be avoided counts as so dear then that PostgreSQL would compile the statement, for seconds.
 */
const BY_KEY =
  "-c jit=off -c plan_cache_mode=force_generic_plan -c random_page_cost=1.1 -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off";

const LONGEST_PLANNED_MS = 300_000;
/** For `retryWhileUnreachable` around `readWhole`, each try of which may last as long. */
export const READS_WHOLE = { upToMs: LONGEST_PLANNED_MS };
const BEGIN_PLANNED = `BEGIN; SET LOCAL statement_timeout = ${LONGEST_PLANNED_MS};
SET LOCAL plan_cache_mode = force_custom_plan;
SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on`;

const PING = statement("ping", "SHOW transaction_read_only");

/** Connects at the first query, so this succeeds while the database is down. Throws what {@link connectionTo} does. */
export function openDatabase(settings: DatabaseSettings): Database {
  const { url, ca, poolSize, onError = () => {}, onFailed = () => {} } = settings;
  const pool = createPool({ ...connectionTo(url, ca, BY_KEY), max: poolSize });
  let prisma: Promise<PrismaClient> | undefined;

  const connect = () =>
    pool.connect().catch((error: unknown) => {
      refused(error);
      if (pool.totalCount < poolSize) onError(error);
      throw error;
    });

  const query: Queryable["query"] = async (...given) => {
    const client = await connect();
    try {
      return (await lend(client, (lent) => queryAlone(lent, ...given), onFailed)) as never;
    } catch (error) {
      onError(error);
      throw error;
    }
  };

  const planned: Database["planned"] = async (work) =>
    inTransaction(await connect(), work, onFailed, BEGIN_PLANNED, LONGEST_PLANNED_MS);

  return {
    query,
    transaction: async (work) => inTransaction(await connect(), work, onFailed),
    planned,
    readWhole: (...given) => planned((tx) => tx.query(...given)),
    prisma: () => (prisma ??= openPrisma(pool)),
    async ping() {
      const [answer] = await query<{ transaction_read_only: string }>(PING);
      if (answer?.transaction_read_only === "on")
        throw new KitError("database_read_only", "the database takes no writes: it is read-only");
    },
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
  return new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: "minimal" });
}

/** In ms. The server's limits (the last three) end what a lost client left. */
const PATIENCE = {
  connectionTimeoutMillis: 2000,
  query_timeout: 3000,
  statement_timeout: 3000,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: 10_000,
};

/** `bigint` as a number, on our connections only: Prisma uses the driver's global parsers and reads it in its own way. */
const rowValues = new pg.TypeOverrides();
rowValues.setTypeParser(pg.types.builtins.INT8, (value) => {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new RangeError(`a bigint beyond what a number holds exactly: ${value}`);
  return number;
});

export function createPool(address: pg.PoolConfig): pg.Pool {
  const ours = { application_name: "addon-service", ...PATIENCE, keepAlive: true, types: rowValues };
  const pool = new pg.Pool({ ...ours, ...address });
  // A connection that dies emits an error, which would end the process if nobody listened.
  pool.on("error", ignore).on("connect", (client) => void client.on("error", ignore));
  // Prisma may release a connection whose ROLLBACK was not answered. What the next caller wrote in that transaction would
  // be lost without an error, so the connection is closed.
  return pool.on("release", (_, client) => {
    if (["T", "E"].includes(client.getTransactionStatus() ?? "")) client.end().catch(ignore);
  });
}

function ignore(): void {}

/** A connection while somebody has it. */
interface Lent extends Queryable {
  isBroken: boolean;
  send(query: pg.QueryConfig): Promise<pg.QueryResult>;
}

type OnFailed = NonNullable<DatabaseSettings["onFailed"]>;

/** If an error leaves the connection in doubt it is dropped afterwards. */
async function lend<T>(
  client: pg.PoolClient,
  work: (lent: Lent) => Promise<T>,
  onFailed: OnFailed,
  queryTimeoutMs?: number,
): Promise<T> {
  const limit = queryTimeoutMs && { query_timeout: queryTimeoutMs };
  const lent: Lent = {
    isBroken: false,
    async send(query) {
      try {
        return await client.query(query);
      } catch (error) {
        lent.isBroken ||= !leavesConnectionSound(error);
        onFailed(error, { name: query.name ?? "", text: query.text });
        throw error;
      }
    },
    // Parsing a named statement only once saves PostgreSQL a quarter of the work.
    query: async ({ name, text }, values = []) =>
      (await lent.send({ name, text, values: [...values], ...limit })).rows as never,
  };
  try {
    return await work(lent);
  } finally {
    client.release(lent.isBroken);
  }
}

/** One that was not run for its outdated plan is sent once more without its name, and is planned for that. */
function queryAlone(lent: Lent, statement: Statement, values: readonly unknown[] = []): Promise<unknown[]> {
  return lent.query(statement, values).catch(async (error: unknown) => {
    if (!isPlanOutdated(error)) throw error;
    return (await lent.send({ text: statement.text, values: [...values] })).rows as unknown[];
  });
}

function inTransaction<T>(
  client: pg.PoolClient,
  work: (tx: Queryable) => Promise<T>,
  onFailed: OnFailed,
  begin = "BEGIN",
  queryTimeoutMs?: number,
): Promise<T> {
  const transaction = async (lent: Lent) => {
    try {
      await lent.send({ text: begin });
      const result = await work(lent);
      const { command } = await lent.send({ text: "COMMIT" });
      // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and no error.
      if (command !== "COMMIT") throw new Error("rolled back: a statement in the transaction had failed");
      return result;
    } catch (error) {
      if (!lent.isBroken) await lent.send({ text: "ROLLBACK" }).catch(ignore);
      throw error;
    }
  };
  return lend(client, transaction, onFailed, queryTimeoutMs);
}

/** What the driver, Prisma and our statements rely on, whatever the server or the role has set. */
const RELIED_ON =
  "-c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c search_path=public -c default_transaction_isolation=read\\ committed";

/**
 * How the driver connects to `url`, with options of the connection in front of the address's own: of two that set the
 * same, PostgreSQL takes the last.
 *
 * `ca` is `DATABASE_CA`. Unset, the address alone decides about TLS, and certificates are verified against the system's
 * CAs, whatever the `sslmode`. Set, it replaces all that the address says about TLS except a client certificate; an
 * address that turns TLS off stays as it is.
 *
 * @throws Misconfigured if the address or a file that it names cannot be read, or `ca` is neither PEM, nor a readable
 * file, nor `no-verify`
 */
export function connectionTo(
  url: string,
  ca?: string,
  options = "",
  setting = "DATABASE_URL",
): pg.ClientConfig {
  const config = parsed(ca ? withoutTls(url) : inTheDriversWords(url), setting);
  config.options = [options, config.options, RELIED_ON].filter(Boolean).join(" ");
  if (!ca || config.ssl === false) return config;
  const own = typeof config.ssl === "object" ? config.ssl : {};
  // The documented opt-out, for self-signed certificates: encrypted, but anyone may answer.
  const isVerified = ca !== "no-verify";
  return { ...config, ssl: { ...own, ...(isVerified && { ca: pem(ca) }), rejectUnauthorized: isVerified } };
}

function parsed(url: string, setting: string): pg.ClientConfig {
  try {
    return parse(url) as unknown as pg.ClientConfig;
  } catch (cause) {
    throw new Misconfigured(
      `${setting}, or a file that it names, cannot be read. In its user and password, what is not a letter or a digit must be percent-encoded: % as %25`,
      { cause },
    );
  }
}

/** What the address says about TLS would win over our own settings, and a file that it names need not be there. */
function withoutTls(url: string): string {
  return url.replace(/([?&])(sslmode=(?!disable(&|$))|sslrootcert=)[^&]*/g, "$1");
}

/** Says what libpq's words mean to the driver, which would fail at the one and warn of the others. */
function inTheDriversWords(url: string): string {
  const rootsOfTheSystem = url.replace(/([?&])sslrootcert=system(?=&|$)/, "$1sslmode=verify-full");
  if (/[?&]uselibpqcompat=/.test(url)) return rootsOfTheSystem;
  return rootsOfTheSystem.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

function pem(ca: string): string {
  if (ca.includes("-----BEGIN CERTIFICATE-----")) return ca.replaceAll("\\n", "\n");
  try {
    return readFileSync(ca, "utf8");
  } catch (cause) {
    throw new Misconfigured(
      "DATABASE_CA must be a certificate in PEM, the path of a file that holds one, or no-verify",
      { cause },
    );
  }
}
