import { existsSync } from "node:fs";
import path from "node:path";
import type { Config } from "../config.ts";

/**
 * What is to be said instead of opening an embedded database that is not there: that would make a new one, and work on
 * it while the service's own is elsewhere. Null: nothing.
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
