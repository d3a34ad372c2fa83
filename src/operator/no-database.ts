import { existsSync } from "node:fs";
import path from "node:path";
import type { Config } from "../config.ts";

/**
 * The message to show if there is no embedded database to open; null if there is one, or if DATABASE_URL is set.
 * Opening it would create a new, empty database, while the service's own is elsewhere.
 */
export function noDatabase({
  databaseUrl,
  dataDir,
}: Pick<Config, "databaseUrl" | "dataDir">): { message: string; fix: string } | null {
  if (databaseUrl || existsSync(path.resolve(dataDir, "postgresql"))) return null;
  return {
    message: `DATABASE_URL is not set, and there is no embedded database in ${dataDir}.`,
    fix: "Set DATABASE_URL to that of the service. For development, npm run dev makes an embedded one, and so does kit migrate.",
  };
}
