import type { PrismaClient } from "./client/client.ts";
import { overPool } from "./over-pool.ts";
import { createPool } from "./pool.ts";
import type { Queryable } from "./statement.ts";
import { withCa } from "./tls.ts";

export { createGroupCommit, Overloaded } from "./group-commit.ts";
export { isConflict, isFaultOfData, isPassing } from "./failure.ts";
export { migrate, MigrationFailed } from "./migrate.ts";
export { statement, type Queryable, type Statement } from "./statement.ts";
export { aWaitingRoom, DatabaseUnavailable, waitingForDatabase, type WaitingRoom } from "./waiting.ts";

/** What the database has to say; a pino logger fits. */
export type DatabaseLog = { warn(fields: object, message: string): void };

export type DatabaseSettings = {
  /** `DATABASE_URL`; unset: the embedded database. */
  url?: string | undefined;
  /** The embedded database's folder. */
  dataDir: string;
  /** On the embedded database: the web process must own the folder; a command is content to be served by it. */
  role: "owner" | "guest";
  /** Connections to PostgreSQL, at most. */
  poolSize: number;
  /** `DATABASE_CA`: PEM, path or `no-verify`. */
  ca?: string | undefined;
  log?: DatabaseLog | undefined;
};

/** One database, whichever it is. Hot statements go through `query`; Prisma, on the same connections, serves the rest. */
export type Database = Queryable & {
  readonly kind: "postgresql" | "embedded";
  /** Commits when `work` resolves, rolls back when it throws. Wait for nothing in it but the database. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** The Prisma client; loaded when first asked for. */
  prisma(): Promise<PrismaClient>;
  /** Resolves if the database answers, within the usual limits (5 s at most). */
  ping(): Promise<void>;
  /** The migrations that the database still lacks, oldest first; always none on the embedded one. */
  pendingMigrations(): Promise<string[]>;
  /** Waits for what is under way, then closes every connection. Once, and last. */
  close(): Promise<void>;
};

/** The embedded database does one thing at a time: more connections would only wait for each other. */
const EMBEDDED_CONNECTIONS = 4;

/**
 * Opens the database that the settings name. PostgreSQL is not connected to before the first query, so this succeeds
 * while it is down; the embedded database is opened and migrated.
 *
 * @throws Misconfigured if another process owns the embedded database's folder, or `ca` cannot be read
 */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  const { url, ca, poolSize, dataDir, role, log = { warn: () => undefined } } = settings;
  if (url) return overPool({ kind: "postgresql", pool: createPool({ ...withCa(url, ca), max: poolSize }) });
  // Loaded when needed: a service on PostgreSQL has no use for it.
  const { openEmbedded } = await import("./embedded/embedded.ts");
  const { address, close } = await openEmbedded({ dataDir, role, log });
  const pool = createPool({ ...address, max: Math.min(poolSize, EMBEDDED_CONNECTIONS) });
  return overPool({ kind: "embedded", pool, close });
}
