import type { SettingName } from "../settings.ts";

/** The settings that migrating needs; the others may be missing. */
export const MIGRATION_SETTINGS = [
  "databaseUrl",
  "migrationDatabaseUrl",
  "databaseCa",
  "dataDir",
] as const satisfies readonly SettingName[];
