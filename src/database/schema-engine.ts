import { setTimeout as sleep } from "node:timers/promises";
// Before Prisma's adapter, which loads the driver itself.
import pg from "./driver.ts";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  DriverAdapterError,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { SchemaEngine } from "@prisma/schema-engine-wasm";
import { refuseOtherEncoding } from "./encoding.ts";
import { tellLockWaits, type LockWait } from "./lock-waits.ts";
import { forgetUnfinished, runScript } from "./migration-script.ts";
import { loadSchemaEngine } from "./schema-engine-wasm.ts";
import type { Queryable } from "./statement.ts";

/** The kit's own advisory lock for migrations ("addon"). */
const MIGRATION_LOCK = 0x6164646f6e;
/**
 * The engine's own lock, which `prisma migrate` holds too. The engine takes it again itself, but waits 10 s for it at
 * most.
 */
const PRISMA_LOCK = 72707369;
const LOCKS = [MIGRATION_LOCK, PRISMA_LOCK];
const LOOKS_AGAIN_AFTER_MS = 200;

let loading: ReturnType<typeof loadSchemaEngine> | undefined;

/**
 * Runs `work` with Prisma's own schema engine, the one behind `prisma migrate`, on the database at `address`. It needs
 * no binary and no Prisma command line, and keeps `_prisma_migrations` as they do. `work` may query the database over the
 * same connection. One process at a time: others wait, and `onWait` is called with what they wait for.
 *
 * @throws Misconfigured for an empty database that cannot store every text
 */
export async function withSchemaEngine<T>(
  address: pg.PoolConfig,
  work: (engine: SchemaEngine, db: Queryable) => Promise<T>,
  onWait?: (wait: LockWait) => void,
): Promise<T> {
  const { SchemaEngine } = await (loading ??= loadSchemaEngine());
  const pool = new pg.Pool({ ...PATIENCE, ...address, ...ONE_SESSION });
  const ignore = () => undefined;
  pool.on("error", ignore).on("connect", (client) => void client.on("error", ignore));
  let endTelling = () => Promise.resolve();
  try {
    await pool.query(NO_LIMITS);
    await refuseOtherEncoding(pool);
    if (onWait) {
      const { rows } = await pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      endTelling = tellLockWaits({ ...CALLED, ...address }, { pid: rows[0]!.pid, locks: LOCKS, onWait });
    }
    for (const lock of LOCKS) await take(lock, pool);
    await forgetUnfinished(pool);
    const adapter = bindMigrationAwareSqlAdapterFactory(wholeScripts(new PrismaPg(pool), pool));
    const engine = await SchemaEngine.new({ datamodels: undefined }, () => undefined, adapter);
    return await work(engine, {
      query: async ({ text }, values = []) => (await pool.query(text, [...values])).rows as never,
    });
  } finally {
    await Promise.all([pool.end(), endTelling()]);
  }
}

/**
 * Takes an advisory lock by polling. A statement that blocked on the lock would be waited for by an index that another
 * session makes CONCURRENTLY, until PostgreSQL ended one of the two as a deadlock.
 */
async function take(lock: number, pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ isMine: boolean }>(
      `SELECT pg_try_advisory_lock(${lock}) AS "isMine"`,
    );
    if (rows[0]!.isMine) return;
    await sleep(LOOKS_AGAIN_AFTER_MS);
  }
}

const CALLED = { application_name: "addon-migrate" };
/** Without a limit on queries: a migration may take as long as it takes. */
const PATIENCE = { connectionTimeoutMillis: 10_000, keepAlive: true, ...CALLED };
/**
 * Lifts the limits that the role has for the service's statements: cut off in the middle, some migrations are never
 * done.
 */
const NO_LIMITS = `SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout',
    'idle_session_timeout')`;
/** One connection that stays open: the locks belong to the session that took them, and end with it. */
const ONE_SESSION = { max: 1, idleTimeoutMillis: 0 };

/**
 * Makes the adapter send each script whole. By itself it cuts a migration at each semicolon, also at those in comments,
 * strings and function bodies. Sent whole, the script is cut by PostgreSQL and runs in one transaction: a migration
 * that fails leaves nothing half done.
 */
function wholeScripts(factory: PrismaPg, pool: pg.Pool): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connectToShadowDb: () => factory.connectToShadowDb(),
    connect: async () => {
      const adapter = await factory.connect();
      adapter.executeScript = (script) => runScript(pool, script).catch(inPostgresqlsWords);
      return adapter;
    },
  };
}

/** The engine knows only some of the adapter's kinds of errors, so it is given PostgreSQL's own error. */
function inPostgresqlsWords(error: unknown): never {
  if (!(error instanceof pg.DatabaseError)) throw error;
  const { code = "", severity = "ERROR", message, detail, column, hint } = error;
  throw new DriverAdapterError({ kind: "postgres", code, severity, message, detail, column, hint });
}
