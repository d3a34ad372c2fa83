import pg from "pg";
import { KitError } from "../errors.ts";
import { connectionTo } from "./address.ts";
import type { PrismaClient } from "./client/client.ts";
import { type Closable, type Generated, prismaOn } from "./prisma.ts";
import { isCutOff, isPlanOutdated, leavesConnectionSound, noteSlow, refused } from "./retry.ts";
import { type Queryable, type Statement, statement, type ValuesOf } from "./statement.ts";

export type DatabaseSettings = {
  url: string;
  poolSize: number;
  /** PEM, path or `no-verify`. */
  ca?: string | undefined;
  /**
   * A statement that PostgreSQL has cut off because it took too long is sent once more: for a command, which a person waits
   * for. Not in a transaction.
   */
  isPatient?: boolean;
  /** Called with errors of `query` and of connecting, except a wait for a busy pool. */
  onError?(error: unknown): void;
  /** Called with the error of each statement, also in transactions, and of each Prisma operation. */
  onFailed?(error: unknown, failed: Failed): void;
};

/** `name`: the statement's name, or Prisma's operation, such as `LostSale.createMany`. */
export type Failed = { name: string; isWrite: boolean };

/** Which statement goes through `query`, and which through `prisma`, stands at `prisma`. */
export type Database = Queryable & {
  /** Commits when `work` resolves, rolls back when it throws. `work` must wait only for the database. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** As `transaction`, but each statement is planned for its values and may take five minutes, or `upToMs`. */
  planned<T>(work: (tx: Queryable) => Promise<T>, upToMs?: number): Promise<T>;
  /** As `query`, in a `planned` transaction: for a statement that reads many rows. */
  readWhole: Queryable["query"];
  /**
   * The typed client, for the plain statements of pages: rows by key or by a simple filter. SQL keeps what Prisma cannot say
   * in one statement (claims, locks, several tables at once, sums, what is due by the database's clock), and, plain or not,
   * what a provision, a refresh, a sweep, the view of a customer's page, a long command or each command of `kit` needs: the
   * first use of Prisma costs a process 0.15 s, of which it answers nobody for 0.06 s, and 50 MB (docs/decisions.md).
   */
  prisma(): Promise<PrismaClient>;
  /** The client of a vendor's own schema, on the same connections. */
  prismaOfYours<Client extends Closable>(load: () => Promise<Generated<Client>>): Promise<Client>;
  /** Resolves if the database answers and takes writes; rejects if it is read-only: a standby, or a full disk. */
  ping(): Promise<void>;
  /** How many connections this process has, and how many callers wait for one. */
  connections(): { inUse: number; idle: number; waiting: number };
  /** Waits for running statements, then closes every connection. Call it once, as the last function. */
  close(): Promise<void>;
};

/**
 * Planner settings for statements that find their rows by key. Their plan does not depend on the values, so a generic plan
 * is made once for each connection, which saves a quarter of PostgreSQL's work for a provision. Scans and joins of whole
 * tables are off, because PostgreSQL would choose them for the empty tables of a new service and keep the plan while the
 * tables grow. `random_page_cost`: the default of 4 assumes disk seeks. `jit` is off, because an unavoidable scan then
 * counts as so expensive that PostgreSQL would spend seconds to compile the statement. `planned` overrides these settings.
 */
const BY_KEY =
  "-c jit=off -c plan_cache_mode=force_generic_plan -c random_page_cost=1.1 -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off";

const LONGEST_PLANNED_MS = 300_000;
/** Options of `retryWhileUnreachable` around `readWhole`, each attempt of which may last this long. */
export const READS_WHOLE = { upToMs: LONGEST_PLANNED_MS };
const beginPlanned = (upToMs: number) => `BEGIN; SET LOCAL statement_timeout = ${upToMs};
SET LOCAL plan_cache_mode = force_custom_plan;
SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on`;

const PING = statement<object, { transaction_read_only: string }>("ping").sql("SHOW transaction_read_only");

/** Opens a pool, which connects at the first query, not now. Throws as {@link connectionTo}. */
export function openDatabase(settings: DatabaseSettings): Database {
  const { url, ca, poolSize, isPatient = false, onError = () => {}, onFailed = () => {} } = settings;
  const tried = isPatient ? twiceIfSlow : once;
  const pool = createPool({ ...connectionTo(url, ca, BY_KEY), max: poolSize });
  const prisma = prismaOn(pool, onFailed, tried);

  const connect = () =>
    pool.connect().catch((error: unknown) => {
      refused(error);
      if (pool.totalCount < poolSize) onError(error);
      throw error;
    });

  const query: Queryable["query"] = async (statement, ...values) => {
    const client = await connect();
    try {
      return await lend(client, (lent) => tried(() => queryAlone(lent, statement, ...values)), onFailed);
    } catch (error) {
      onError(error);
      throw error;
    }
  };

  const planned: Database["planned"] = async (work, upToMs = LONGEST_PLANNED_MS) =>
    inTransaction(await connect(), work, onFailed, beginPlanned(upToMs), upToMs);

  return {
    query,
    transaction: async (work) => inTransaction(await connect(), work, onFailed),
    planned,
    readWhole: (...given) => planned((tx) => tx.query(...given)),
    prisma: prisma.ofKit,
    prismaOfYours: prisma.ofYours,
    async ping() {
      const [answer] = await query(PING);
      if (answer?.transaction_read_only === "on")
        throw new KitError("database_read_only", "the database takes no writes: it is read-only");
    },
    connections: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    async close() {
      await prisma.close();
      await pool.end();
    },
  };
}

const WRITES = /\b(INSERT|UPDATE|DELETE)\b/;

/** Limits in ms. The last three are the server's; they also end the statements and transactions of a lost client. */
const PATIENCE = {
  connectionTimeoutMillis: 2000,
  // Later than the server's limit, whose error says that the statement was slow and has changed nothing.
  query_timeout: 3500,
  statement_timeout: 3000,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: 10_000,
};

/** Parses `bigint` as a number, for this pool only: Prisma relies on the driver's global parsers. */
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
  // A lost connection emits an error event, which ends the process if there is no listener.
  pool.on("error", ignore).on("connect", (client) => void client.on("error", ignore));
  // Prisma may release a connection whose ROLLBACK was not answered. The next caller's writes in that transaction would be
  // lost without an error, so the connection is closed.
  return pool.on("release", (_, client) => {
    if (["T", "E"].includes(client.getTransactionStatus() ?? "")) client.end().catch(ignore);
  });
}

function ignore(): void {}

type Tried = <T>(send: () => Promise<T>) => Promise<T>;
const once: Tried = (send) => send();
const twiceIfSlow: Tried = (send) =>
  send().catch((error: unknown) => {
    if (!isCutOff(error)) throw error;
    return send();
  });

/** A connection that is lent to one caller. */
interface Lent extends Queryable {
  isBroken: boolean;
  send(query: pg.QueryConfig): Promise<pg.QueryResult>;
}

type OnFailed = NonNullable<DatabaseSettings["onFailed"]>;

/** Lends a connection to `work`. After an error that may have broken the connection, it is closed. */
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
      const sentMs = performance.now();
      try {
        return await client.query({ ...query, ...limit });
      } catch (error) {
        noteSlow(error, query.name ?? "a statement", performance.now() - sentMs);
        lent.isBroken ||= !leavesConnectionSound(error);
        onFailed(error, { name: query.name ?? "", isWrite: WRITES.test(query.text) });
        throw error;
      }
    },
    // Statements are named, so that PostgreSQL parses each once for a connection: a quarter less work.
    query: async (statement, ...values) => {
      const { name, text } = statement;
      return (await lent.send({ name, text, values: statement.bind(...values) })).rows as never;
    },
  };
  try {
    return await work(lent);
  } finally {
    client.release(lent.isBroken);
  }
}

/** Runs one statement. If PostgreSQL refuses its outdated plan, the statement is sent again without its name. */
async function queryAlone<Row, Values extends object>(
  lent: Lent,
  statement: Statement<Values, Row>,
  ...values: ValuesOf<Values>
): Promise<Row[]> {
  return lent.query(statement, ...values).catch(async (error: unknown) => {
    if (!isPlanOutdated(error)) throw error;
    return (await lent.send({ text: statement.text, values: statement.bind(...values) })).rows as Row[];
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
