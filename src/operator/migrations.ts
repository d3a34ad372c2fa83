import path from "node:path";
import { checkMigrations, migrate, openDatabase, statement, type LockWait } from "../database/database.ts";
import type { Config } from "../config.ts";
import type { MIGRATION_SETTINGS } from "./migration-settings.ts";

const appliedSince = statement(
  "applied_migrations",
  `SELECT migration_name AS name FROM _prisma_migrations
   WHERE finished_at >= $1 AND rolled_back_at IS NULL ORDER BY migration_name`,
);

export interface MigrationReport {
  /** The names of the migrations, oldest first. */
  applied: string[];
  /** A description of the database, without a password. */
  database: string;
}

/**
 * Brings the schema up to date; answers the database and the migrations that were applied. `onWait` is told which
 * sessions it waits for. Throws `MigrationFailed` or `Misconfigured`.
 */
export async function migrateDatabase(
  config: Pick<Config, (typeof MIGRATION_SETTINGS)[number]>,
  onWait: (wait: LockWait) => void,
): Promise<MigrationReport> {
  const { databaseUrl, migrationDatabaseUrl, databaseCa: ca, dataDir } = config;
  const url = (migrationDatabaseUrl ?? databaseUrl)?.reveal();
  if (url) return { ...(await migrate({ url, ca, onWait })), database: named(new URL(url)) };
  const database = `the embedded database in ${path.resolve(dataDir)} (DATABASE_URL is not set)`;
  return { ...(await migrateEmbedded(dataDir)), database };
}

/** Describes a database by its URL. A Unix socket's folder is given in the query, as `host`. */
function named({ pathname, host, searchParams }: URL): string {
  const name = pathname.slice(1);
  return `${name ? `database ${name}` : "the user's own database"} at ${searchParams.get("host") ?? host}`;
}

/** Opening the embedded database migrates it. It runs on this machine, so its clock is ours. */
async function migrateEmbedded(dataDir: string): Promise<{ applied: string[] }> {
  const before = new Date();
  const db = await openDatabase({ dataDir, role: "guest", poolSize: 1 });
  try {
    // If a running service has the database open, this open did not migrate it: check the schema.
    await checkMigrations(db);
    const rows = await db.query<{ name: string }>(appliedSince, [before]);
    return { applied: rows.map(({ name }) => name) };
  } finally {
    await db.close();
  }
}
