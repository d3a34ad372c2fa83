import { statement, type Database } from "../database/database.ts";
import type { Log } from "../log.ts";
import { lockWhole } from "./locks.ts";
import { createPatience } from "./patience.ts";
import { deprovisioned, notFound } from "./refusals.ts";
import { findResource, wasNeverProvisioned } from "./rows.ts";

/**
 * Answers a deprovision, which the log calls `requestId` (assumed, section 1): throws a `Refusal` for a uuid never
 * provisioned (404) or gone already (410). A uuid never seen leaves a tombstone: a provision that this request overtook
 * on its way finds it, and makes nothing that nobody would ever take away. `cameAt`: when the request came, by
 * `performance.now()`, unless just now.
 */
export type Deprovision = (uuid: string, requestId?: string, cameAt?: number) => Promise<void>;

// The end, in one statement: the row becomes a tombstone, every secret is erased, work that runs is fenced off (the lease
// moves on and the steps vanish), and a clean-up is written down. The clean-up takes the lease's end from the work that
// runs, so that it begins when that has noticed. If a clean-up had begun already, because the provision had failed, this
// one has its key.
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
     DELETE FROM steps s USING gone WHERE s.uuid = gone.uuid RETURNING s.kind, s.key, s.leased_until
   ), cleaning AS (
     INSERT INTO steps (uuid, kind, key, due_at, leased_until, request_id)
     SELECT uuid, 'clean_up', coalesce((SELECT key FROM cancelled WHERE kind = 'clean_up' LIMIT 1), gen_random_uuid()), now(),
       (SELECT max(leased_until) FROM cancelled), $2 FROM gone
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'deprovisioned' FROM gone RETURNING uuid`,
);

// Waits for a provision of this uuid that is just being written; then nothing is inserted, and there is one to bury.
const buryUnseen = statement(
  "deprovision_unseen",
  `WITH unseen AS (
     INSERT INTO resources (uuid, plan, applied_plan, state) VALUES ($1, '', '', 'deprovisioned')
     ON CONFLICT (uuid) DO NOTHING RETURNING uuid
   ), erased AS (
     INSERT INTO credentials (uuid, state) SELECT uuid, 'erased' FROM unseen
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'deprovisioned_before_provision' FROM unseen RETURNING uuid`,
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
  return async (uuid, requestId, cameAt = performance.now()) => {
    const patience = createPatience(cameAt);
    let tries = 0;
    const [gone] = await patience(() =>
      db.transaction(async (tx) => {
        tries += 1;
        await lockWhole(tx, uuid);
        const buried = await tx.query(bury, [uuid, requestId ?? null]);
        if (buried.length > 0 || (await tx.query(buryUnseen, [uuid])).length > 0) return buried;
        await lockWhole(tx, uuid);
        return tx.query(bury, [uuid, requestId ?? null]);
      }),
    );
    if (!gone) {
      const resource = await patience(() => findResource(db, uuid));
      if (!resource || wasNeverProvisioned(resource)) throw notFound();
      // If an earlier try took effect and its acknowledgement was lost, this request is still the first.
      if (tries === 1) throw deprovisioned();
    }
    log.info({ uuid, requestId }, "Deprovisioned: a tombstone stays, every secret is erased");
    onSettled();
  };
}
