import { migrate, openDatabase, statement } from "../database/database.ts";
import type { Config } from "../config.ts";
import type { MIGRATION_SETTINGS } from "./migration-settings.ts";

const appliedSince = statement(
  "applied_migrations",
  `SELECT migration_name AS name FROM _prisma_migrations
   WHERE finished_at >= $1 AND rolled_back_at IS NULL ORDER BY migration_name`,
);

/** Brings the schema up to date and names what it applied. Throws `MigrationFailed`. */
export async function migrateDatabase(
  config: Pick<Config, (typeof MIGRATION_SETTINGS)[number]>,
): Promise<{ applied: string[] }> {
  const { databaseUrl, migrationDatabaseUrl, databaseCa: ca } = config;
  const url = migrationDatabaseUrl ?? databaseUrl;
  if (url) return migrate({ url: url.reveal(), ca });
  return migrateEmbedded(config.dataDir);
}

/** The embedded database is migrated by whoever opens it, and tells the time by the same clock as we do. */
async function migrateEmbedded(dataDir: string): Promise<{ applied: string[] }> {
  const before = new Date();
  const db = await openDatabase({ dataDir, role: "guest", poolSize: 1 });
  try {
    const rows = await db.query<{ name: string }>(appliedSince, [before]);
    return { applied: rows.map(({ name }) => name) };
  } finally {
    await db.close();
  }
}
