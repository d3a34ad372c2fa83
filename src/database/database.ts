import type { Database, DatabaseLog } from "./types.ts";
import { withQuery } from "./address.ts";
import { overPool } from "./over-pool.ts";
import { createPool } from "./pool.ts";
import { withCa } from "./tls.ts";

export { createGroupCommit, Overloaded } from "./group-commit.ts";
export { encodingInWords, HOW_TO_ENCODE, KEEPS_BYTES, otherEncoding } from "./encoding.ts";
export {
  isConflict,
  isDiskFull,
  isConnectionConfigError,
  isDataError,
  isFaultOfTls,
  isLockTimeout,
  isOutOfConnections,
  isRefusedByPooler,
  isSharedSession,
  isTransient,
  refusalInWords,
} from "./failure.ts";
export { howToMakeValid, invalidIndexes, invalidInWords } from "./invalid-indexes.ts";
export type { LockWait } from "./lock-waits.ts";
export { checkMigrations, howToMigrate, migrate, MigrationFailed, tellOfAddress } from "./migrate.ts";
export { DELETED_FROM, OUR_TABLES } from "./our-tables.ts";
export { HOW_TO_BE_LET_IN, HOW_TO_POOL, SHARES_SESSIONS, sharesSessions } from "./pooler.ts";
export { findLackOfRights, type LackOfRights } from "./rights.ts";
export {
  genericPlanStatement,
  createApplies,
  statement,
  type Queryable,
  type Statement,
} from "./statement.ts";
export type { Database, DatabaseLog } from "./types.ts";
export { TakesNoWrites } from "./over-pool.ts";
export {
  aWaitingRoom,
  DatabaseUnavailable,
  isDatabaseAway,
  retryWhileDatabaseAway,
  type Deadline,
  type WaitingRoom,
} from "./retry.ts";

export type DatabaseSettings = {
  /** `DATABASE_URL`; unset: the embedded database. */
  url?: string | undefined;
  /** The embedded database's folder. */
  dataDir: string;
  /** On the embedded database: the owner (a web process) opens the folder; a guest may also be served by the owner. */
  role: "owner" | "guest";
  /** Connections to PostgreSQL, at most. */
  poolSize: number;
  /** `DATABASE_CA`: PEM, path or `no-verify`. */
  ca?: string | undefined;
  log?: DatabaseLog | undefined;
};

/** The embedded database does one thing at a time: more connections would only wait for each other. */
const EMBEDDED_CONNECTIONS = 4;

/** From this many connections on, half are kept for statements with generic plans; fewer serve all. */
const SMALLEST_SPLIT = 8;

/**
 * A named statement is parsed once, but planned anew each time, for the tables as they are then. PostgreSQL would keep
 * a generic plan after the first runs, which on a new service is to scan the whole table: after a few thousand
 * resources, deciding a provision cost it seven times as much. A statement that is run very often keeps a
 * generic plan for a second (generic-plans.ts). `random_page_cost` is lowered because its default of 4 stands for the seek time of a disk.
 */
const PLANNED_ANEW = "-c plan_cache_mode=force_custom_plan -c random_page_cost=1.1";

/** Adds these options in front of the address's own: of two that set the same, PostgreSQL takes the last. */
const plannedAnew = (url: string) =>
  withQuery(url, (query) =>
    query.set("options", [PLANNED_ANEW, ...query.getAll("options").slice(-1)].join(" ")),
  );

/**
 * Opens the database that the settings name. PostgreSQL is not connected to before the first query, so this succeeds
 * while it is down; the embedded database is opened and migrated.
 *
 * @throws Misconfigured if another process owns the embedded database's folder, or `ca` cannot be read
 */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  const { url, ca, poolSize, dataDir, role, log = { warn: () => undefined } } = settings;
  if (url) {
    const poolOf = (max: number) => createPool({ ...withCa(plannedAnew(url), ca), max });
    const forGenericPlans = poolSize >= SMALLEST_SPLIT ? Math.floor(poolSize / 2) : 0;
    return overPool({
      kind: "postgresql",
      pool: poolOf(poolSize - forGenericPlans),
      ...(forGenericPlans > 0 && { genericPlanPool: poolOf(forGenericPlans) }),
      log,
    });
  }
  // Loaded when needed: a service on PostgreSQL has no use for it.
  const { openEmbedded } = await import("./embedded/embedded.ts");
  const { address, close } = await openEmbedded({ dataDir, role, log });
  const pool = createPool({ ...address, max: Math.min(poolSize, EMBEDDED_CONNECTIONS) });
  return overPool({ kind: "embedded", pool, close, log });
}
