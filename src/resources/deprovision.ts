import type { Context } from "../context.ts";
import { statement } from "../database/database.ts";
import type { StepRunner } from "../work/step.ts";
import { lockResourceAndCredential } from "./lock-resource.ts";
import { createRequestDeadline } from "./request-deadline.ts";
import { deprovisioned, notFound } from "./refusals.ts";
import { findResource, wasNeverProvisioned } from "./rows.ts";

// The end of a resource, in one statement: the row becomes a tombstone, every secret is erased, running work is fenced
// off (the credential's lease number rises and the steps are deleted), and a clean-up step is written. The clean-up
// inherits the latest `leased_until` of the deleted steps, so that it begins only when running work has noticed. If the
// provision had failed and a clean-up existed already, the new one keeps its key.
const leaveTombstone = statement(
  "deprovision",
  `WITH gone AS (
     UPDATE resources SET state = 'deprovisioned', name = NULL, options = '{}', callback_url = NULL, answer_status = NULL,
       sealed_answer = NULL, sealed_config = NULL, sealed_log_input_url = NULL, sealed_log_drain_token = NULL,
       app_id = NULL, app_name = NULL, updated_at = now()
     WHERE uuid = $1 AND state <> 'deprovisioned' RETURNING uuid
   ), erased AS (
     UPDATE credentials c SET state = 'erased', reason = NULL, sealed_grant_code = NULL, sealed_access_token = NULL,
       sealed_refresh_token = NULL, due_at = NULL, expires_at = NULL, grant_deadline = NULL,
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

// `ON CONFLICT` waits for a provision of this uuid that is just being written; then nothing is inserted, and
// `leaveTombstone` finds that resource.
const leaveTombstoneOfUnseen = statement(
  "deprovision_unseen",
  `WITH unseen AS (
     INSERT INTO resources (uuid, plan, applied_plan, state) VALUES ($1, '', '', 'deprovisioned')
     ON CONFLICT (uuid) DO NOTHING RETURNING uuid
   ), erased AS (
     INSERT INTO credentials (uuid, state) SELECT uuid, 'erased' FROM unseen
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'deprovisioned_before_provision' FROM unseen RETURNING uuid`,
);

/**
 * Answers a deprovision, logged under `requestId` (assumed, section 1). Throws a `Refusal` for a uuid never provisioned
 * (404) or already deprovisioned (410). A uuid never seen leaves a tombstone: a provision that this request overtook on
 * its way then finds it, and makes nothing that would never be taken down. `receivedAtMs`: when the request arrived
 * (`performance.now()`).
 */
export async function deprovision(
  ctx: Pick<Context, "db" | "log" | "pace"> & { work: Pick<StepRunner, "nudge"> },
  uuid: string,
  requestId?: string,
  receivedAtMs = performance.now(),
): Promise<void> {
  const { db, log, pace, work } = ctx;
  const within = createRequestDeadline(receivedAtMs, pace);
  let mayBeDone = false;
  const [gone] = await within(() =>
    db.transaction(async (tx) => {
      if (!(await lockResourceAndCredential(tx, uuid))) {
        if ((await tx.query(leaveTombstoneOfUnseen, [uuid])).length > 0) return [];
        await lockResourceAndCredential(tx, uuid);
      }
      const ended = await tx.query(leaveTombstone, [uuid, requestId ?? null]);
      mayBeDone ||= ended.length > 0;
      return ended;
    }),
  );
  if (!gone) {
    const resource = await within(() => findResource(db, uuid));
    if (!resource || wasNeverProvisioned(resource)) throw notFound();
    // An earlier try may have been committed and its acknowledgement been lost: then this request was the first, and
    // succeeds.
    if (!mayBeDone) throw deprovisioned();
  }
  log.info({ uuid, requestId }, "Deprovisioned: a tombstone stays, every secret is erased");
  work.nudge();
}
