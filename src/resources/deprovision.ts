import { statement, type Database } from "../database/database.ts";
import type { Log } from "../log.ts";
import { lockWhole } from "./locks.ts";
import { createPatience } from "./patience.ts";
import { deprovisioned, notFound } from "./refusals.ts";
import { findResource } from "./rows.ts";

/**
 * Answers a deprovision, which the log calls `requestId` (decisions, section 1): throws a `Refusal` for a uuid never seen
 * (404) or gone already (410).
 */
export type Deprovision = (uuid: string, requestId?: string) => Promise<void>;

// The end, in one statement: a tombstone, every secret gone, running work fenced off (the lease moves on and the steps
// vanish), and the clean-up written down. It waits for work that still runs to notice.
const bury = statement(
  "deprovision",
  `WITH gone AS (
     UPDATE resources SET state = 'deprovisioned', name = NULL, options = '{}', callback_url = NULL, answer_status = NULL,
       sealed_answer = NULL, sealed_config = NULL, sealed_log_input_url = NULL, sealed_log_drain_token = NULL,
       app_id = NULL, app_name = NULL, updated_at = now()
     WHERE uuid = $1 AND state <> 'deprovisioned' RETURNING uuid
   ), erased AS (
     UPDATE credentials c SET state = 'erased', reason = NULL, sealed_grant_code = NULL, sealed_access_token = NULL,
       sealed_refresh_token = NULL, due_at = NULL, verify_at = NULL, expires_at = NULL, grant_deadline = NULL,
       lease = c.lease + 1, leased_until = NULL, sent_at = NULL, last_error = NULL
     FROM gone WHERE c.uuid = gone.uuid
   ), cancelled AS (
     DELETE FROM steps s USING gone WHERE s.uuid = gone.uuid RETURNING s.leased_until
   ), cleaning AS (
     INSERT INTO steps (uuid, kind, due_at, request_id)
     SELECT uuid, 'clean_up', greatest(now(), (SELECT max(leased_until) FROM cancelled)), $2 FROM gone
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'deprovisioned' FROM gone RETURNING uuid`,
);

export function createDeprovision({
  db,
  onSettled,
  log,
}: {
  db: Database;
  onSettled(): void;
  log: Log;
}): Deprovision {
  return async (uuid, requestId) => {
    const patience = createPatience();
    let tries = 0;
    const [gone] = await patience(() =>
      db.transaction(async (tx) => {
        tries += 1;
        await lockWhole(tx, uuid);
        return tx.query(bury, [uuid, requestId ?? null]);
      }),
    );
    if (!gone) {
      const resource = await patience(() => findResource(db, uuid));
      if (!resource) throw notFound();
      // If an earlier try took effect and its acknowledgement was lost, this request is still the first.
      if (tries === 1) throw deprovisioned();
    }
    log.info({ uuid, requestId }, "Deprovisioned: a tombstone stays, every secret is erased");
    onSettled();
  };
}
