import { statement, type Database } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import { createLog } from "../logging/log.ts";
import { PACE } from "../pace.ts";
import { deprovision } from "../resources/deprovision.ts";
import { forgetLostProvision } from "../resources/lost-provisions.ts";
import { findResource } from "../resources/store.ts";
import { createScrubber } from "../logging/scrubber.ts";
import { typedUuid, UnknownResource } from "./errors.ts";

// Clears what a tombstone still holds about a customer. The row itself stays, so that its uuid can never be used again,
// and so do the types and times of its events.
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
 * Does locally what a deprovision by the platform would do, for a resource that the platform no longer asks about. For
 * a tombstone, or a lost provision, it clears the remaining data of the customer. Throws {@link UnknownResource}.
 */
export async function eraseResource(
  { db, deprovision }: { db: Database; deprovision: (uuid: string) => Promise<void> },
  typed: string,
): Promise<{ erased: string }> {
  const uuid = typedUuid(typed);
  // `deprovision` would store a tombstone for an unknown uuid too. That is meant for requests of the platform that
  // arrive out of order.
  const isLost = await forgetLostProvision(db, uuid);
  if (!(await findResource(db, uuid))) {
    if (isLost) return { erased: uuid };
    throw new UnknownResource(uuid);
  }
  try {
    await deprovision(uuid);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    await db.query(clear, [uuid]);
  }
  return { erased: uuid };
}

/**
 * A deprovision that needs only the database and no keys: it stores the clean-up as a step, which the service carries
 * out.
 */
export function deprovisionWithoutKeys(db: Database): (uuid: string) => Promise<void> {
  const log = createLog("silent", createScrubber(""));
  return (uuid) => deprovision({ db, log, pace: PACE, nudge: () => undefined }, uuid);
}
