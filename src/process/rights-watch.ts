import {
  findLackOfRights,
  isDatabaseAway,
  isSharedSession,
  type Database,
  type LackOfRights,
} from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import { within } from "../within.ts";

const LONGEST_LOOK_MS = 1_000;

/** Whether the service's role has its rights in the database. */
export interface RightsWatch {
  /**
   * Raises an alarm if the role lacks a right, once for each lack. It throws nothing else: whether the service can start
   * without the right, or with a database that does not answer, the checks that follow find out.
   *
   * @throws an error that {@link isSharedSession} tells, as the statements of all checks clash then
   */
  check(): Promise<void>;
  /**
   * What was missing at the last look, and still is; null: nothing. Asks the database only if something was, and
   * believes the last look if this one fails or takes more than a second.
   */
  lack(): Promise<LackOfRights | null>;
}

export function createRightsWatch(db: Database, log: Log): RightsWatch {
  let known: LackOfRights | null = null;
  /** Many may ask at once, but one look serves them all. */
  let looking: Promise<LackOfRights | null> | null = null;

  const look = () =>
    (looking ??= findLackOfRights(db).finally(() => {
      looking = null;
    }));

  return {
    async check() {
      // Its only role may do everything.
      if (db.kind === "embedded") return;
      try {
        const lack = await look();
        if (lack && lack.message !== known?.message)
          log.error({ alarm: "rights_missing", owner: lack.owners, grants: lack.grants }, lack.message);
        known = lack;
      } catch (error) {
        if (isSharedSession(error)) throw error;
        if (!isDatabaseAway(error))
          log.warn({ error }, "The rights of the database role could not be checked");
      }
    },
    async lack() {
      if (known) known = await within(LONGEST_LOOK_MS, look(), () => new Error()).catch(() => known);
      return known;
    },
  };
}
