import type { Database } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import { createLog } from "../logging/log.ts";
import { createScrubber } from "../logging/scrubber.ts";
import { PACE } from "../pace.ts";
import { deprovision } from "../resources/deprovision.ts";
import { findResource } from "../resources/store.ts";
import { NO_TRACE } from "../trace/trace.ts";
import { typedUuid, UnknownResource } from "./errors.ts";
import { clearTombstone } from "./store.ts";

/**
 * Does locally what a deprovision by the platform would do, for a resource that the platform no longer asks about: it
 * needs no keys, and the clean-up is stored as a step, which the service carries out. For a tombstone it clears the
 * remaining data of the customer. Throws {@link UnknownResource}.
 */
export async function eraseResource(db: Database, typed: string): Promise<{ erased: string }> {
  const uuid = typedUuid(typed);
  // `deprovision` would store a tombstone for an unknown uuid too. That is meant for requests of the platform that
  // arrive out of order.
  if (!(await findResource(db, uuid))) throw new UnknownResource(uuid);
  const log = createLog("silent", createScrubber(""));
  try {
    await deprovision({ db, log, pace: PACE, trace: NO_TRACE, nudge: () => undefined }, uuid);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    await clearTombstone(db, uuid);
  }
  return { erased: uuid };
}
