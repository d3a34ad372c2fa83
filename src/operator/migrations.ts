import type { Config, SettingName } from "../config.ts";
import { migrate } from "../database/database.ts";
import { databaseAddress } from "../setting.ts";

/** The settings that migrating needs; the others may be missing. */
export const MIGRATION_SETTINGS = [
  "databaseUrl",
  "migrationDatabaseUrl",
  "databaseCa",
] as const satisfies SettingName[];

interface MigrationReport {
  /** The names of the migrations, oldest first. */
  applied: string[];
  /** A description of the database, without a password. */
  database: string;
}

/**
 * Brings the schema up to date; answers the database and the migrations that were applied. `say` is called with a
 * sentence when other sessions keep it waiting. Throws `MigrationFailed` or `Misconfigured`.
 */
export async function migrateDatabase(
  { databaseUrl, migrationDatabaseUrl, databaseCa: ca }: Pick<Config, (typeof MIGRATION_SETTINGS)[number]>,
  say: (sentence: string) => void,
): Promise<MigrationReport> {
  const url = (migrationDatabaseUrl ?? databaseUrl).reveal();
  return { ...(await migrate({ url, ca, say })), database: named(databaseAddress(url)!) };
}

/** Describes a database by its URL. A Unix socket's folder is given in the query, as `host`. */
function named({ pathname, host, searchParams }: URL): string {
  const name = pathname.slice(1);
  return `${name ? `database ${name}` : "the user's own database"} at ${searchParams.get("host") ?? host}`;
}
