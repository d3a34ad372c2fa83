import { findLackOfRights, isDatabaseAway, type Database } from "../database/database.ts";
import type { Log } from "../logging/log.ts";

/** Whether the service's role has its rights in the database. */
export interface RightsWatch {
  /**
   * Raises an alarm if the role lacks a right, once for each lack. A service that lacks one starts all the same, because
   * most of its work may succeed.
   */
  check(): Promise<void>;
  /** Whether a right that was missing at the last look is still missing. Asks the database only if one was. */
  areLacking(): Promise<boolean>;
}

export function createRightsWatch(db: Database, log: Log): RightsWatch {
  let lacking: string | null = null;
  return {
    async check() {
      // Its only role may do everything.
      if (db.kind === "embedded") return;
      const lack = await findLackOfRights(db).catch((error: unknown) => {
        if (isDatabaseAway(error)) throw error;
        log.warn({ error }, "The rights of the database role could not be checked");
        return null;
      });
      if (lack && lack.message !== lacking)
        log.error({ alarm: "rights_missing", owner: lack.owners, grants: lack.grants }, lack.message);
      lacking = lack && lack.message;
    },
    async areLacking() {
      if (lacking !== null) lacking = (await findLackOfRights(db))?.message ?? null;
      return lacking !== null;
    },
  };
}
