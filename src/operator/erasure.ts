import type { Database } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import { createLog } from "../logging/log.ts";
import { PACE } from "../pace.ts";
import { deprovision } from "../resources/deprovision.ts";
import { forgetLostProvision } from "../resources/end-store.ts";
import { findResource } from "../resources/store.ts";
import { createScrubber } from "../logging/scrubber.ts";
import { typedUuid, UnknownResource } from "./errors.ts";
import { clearTombstone } from "./store.ts";

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
    await clearTombstone(db, uuid);
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
