import { statement, type Database } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import { createLog } from "../log.ts";
import { createDeprovision, type Deprovision } from "../resources/deprovision.ts";
import { findResource } from "../resources/rows.ts";
import { createScrubber } from "../scrubber.ts";
import { typedUuid, UnknownResource } from "./errors.ts";

// What a tombstone still tells about a customer. The row itself stays, so that its uuid can never live again, and so do
// the types and times of what happened.
const clear = statement(
  "clear_tombstone",
  `WITH cleared AS (
     UPDATE resources SET name = NULL, options = '{}', callback_url = NULL, app_id = NULL, app_name = NULL,
       updated_at = now()
     WHERE uuid = $1 AND state = 'deprovisioned' RETURNING uuid
   ), blanked AS (
     UPDATE events e SET detail = '{}' FROM cleared WHERE e.uuid = cleared.uuid AND e.detail <> '{}'
   )
   SELECT uuid FROM cleared`,
);

/**
 * Does here what a deprovision would, for a resource the platform no longer asks about. From a tombstone it takes what
 * is left of the customer. Throws {@link UnknownResource}.
 */
export async function eraseResource(
  { db, deprovision }: { db: Database; deprovision: Deprovision },
  typed: string,
): Promise<{ erased: string }> {
  const uuid = typedUuid(typed);
  // A deprovision would leave a tombstone even so, which is for the platform's requests that overtake each other.
  if (!(await findResource(db, uuid))) throw new UnknownResource(uuid);
  try {
    await deprovision(uuid);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    await db.query(clear, [uuid]);
  }
  return { erased: uuid };
}

/** A deprovision that needs the database and no key: the clean-up it writes down is done by the service. */
export function deprovisionWithoutKeys(db: Database): Deprovision {
  return createDeprovision({
    db,
    onSettled: () => undefined,
    log: createLog("silent", createScrubber("")),
  });
}
