import { isHeldUp, statement, type Database, type Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import { whereBroughtBack } from "../processes/history-store.ts";
import type { Vault } from "../vault/vault.ts";
import { IS_OF_YOU, LEASE, NOTICED } from "../work/step.ts";
import { sealAnswer } from "./answers.ts";
import { whereCan } from "./states.ts";
import { lockedResource } from "./store.ts";

// The statements that end a resource. Each end is one statement: the row's
// state, every secret, the credential (its lease number rises, so that a call under way stores nothing), the steps, and
// a clean-up, which begins only when running calls of the vendor's functions have noticed: it inherits the latest
// `leased_until` of their steps, of a report that still waits for such a call, or of a provision without a step.

const lockCredential = statement(
  "lock_credential_row",
  `SELECT 1 FROM credentials WHERE uuid = $1 FOR UPDATE`,
);

/**
 * Locks a resource and its credential until the transaction ends, so that the next statement sees a step that was
 * inserted while this one waited: a statement sees the snapshot of the moment it began. False, and nothing is locked:
 * there is no such resource. Its credential must not be locked alone: all others lock the resource first, and a
 * deadlock would end one.
 */
export async function lockWithCredential(tx: Queryable, uuid: string): Promise<boolean> {
  const resource = await lockedResource(tx, uuid);
  if (resource) await tx.query(lockCredential, [uuid]);
  return resource !== null;
}

// $2, $3: the request and the trace that end it, if any. A clean-up that existed already keeps its key.
const ending = (
  name: string,
  event: string,
  { sets, where, credential }: Record<"sets" | "where" | "credential", string>,
) =>
  statement(
    name,
    `WITH gone AS (
     UPDATE resources r SET ${sets}, sealed_config = NULL, sealed_log_input_url = NULL, sealed_log_drain_token = NULL, updated_at = now()
     WHERE uuid = $1 AND ${where} RETURNING uuid
   ), erased AS (
     UPDATE credentials c SET sealed_grant_code = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL,
       due_at = NULL, expires_at = NULL, grant_deadline = NULL,
       lease = c.lease + 1, leased_until = NULL, sent_at = NULL, ${credential}
     FROM gone WHERE c.uuid = gone.uuid
   ), cancelled AS (
     DELETE FROM steps s USING gone WHERE s.uuid = gone.uuid RETURNING s.kind, s.key, s.leased_until, s.attempts
   ), running AS (
     SELECT s.leased_until AS until FROM cancelled s
       WHERE ${IS_OF_YOU} OR (s.kind = 'report_failure' AND s.attempts = 0)
     UNION ALL SELECT greatest(created_at + ${LEASE}, ${NOTICED}) FROM resources
       WHERE uuid = $1 AND state = 'provisioning' AND answer_status IS NULL
     UNION ALL SELECT ${NOTICED} FROM events
       WHERE uuid = $1 AND type = 'customer_action' AND detail->>'state' = 'running' AND at > now() - interval '1 minute'
     UNION ALL SELECT ${NOTICED} FROM operator_actions
       WHERE uuid = $1 AND state = 'running' AND action ~ '^(your-|kit action )' AND seen_at > now() - interval '1 minute'
   ), noticed AS (
     SELECT greatest(max(until), ${NOTICED}) AS at FROM running WHERE until IS NOT NULL HAVING count(*) > 0
   ), cleaning AS (
     INSERT INTO steps (uuid, kind, key, due_at, leased_until, request_id, traceparent)
     SELECT uuid, 'clean_up', coalesce((SELECT key FROM cancelled WHERE kind = 'clean_up' LIMIT 1), gen_random_uuid()),
       coalesce((SELECT at FROM noticed), now()), (SELECT at FROM noticed), $2, coalesce($3, (SELECT c.traceparent FROM credentials c WHERE c.uuid = gone.uuid)) FROM gone
   )
   INSERT INTO events (uuid, type) SELECT uuid, '${event}' FROM gone RETURNING uuid`,
  );

// Where the outcome is unknown a process may still hold the tokens, and store them once it thaws or has its database. A
// code that cannot be decrypted is dead after its five minutes, whatever key comes back. A lost grant that is due is asked
// for once more at the platform.
const IS_STRANDED = `(c.state = 'grant_lost' AND c.due_at IS NULL
    AND (c.reason = 'outcome_unknown' AND c.grant_deadline > now() - interval '2 minutes') IS NOT TRUE
  OR c.state = 'quarantined' AND c.generation = 0
    AND c.grant_deadline <= now() - CASE WHEN c.outcome_unknown THEN interval '2 minutes' ELSE interval '0' END)`;

const leaveTombstone = ending("deprovision", "deprovisioned", {
  sets: `state = 'deprovisioned', name = NULL, options = '{}', callback_url = NULL, answer_status = NULL, sealed_answer = NULL,
       app_id = NULL, app_name = NULL`,
  where: whereCan("deprovision"),
  credential: `state = 'erased', reason = NULL, last_error = NULL`,
});

const fail = ending("fail_locally", "failed", {
  sets: `state = 'failed', answer_status = 422, sealed_answer = $4`,
  where: `${whereCan("given_up")}
       AND (NOT $5 OR EXISTS (SELECT FROM credentials c WHERE c.uuid = $1 AND ${IS_STRANDED}))`,
  credential: `state = CASE WHEN c.state = 'grant_lost' THEN c.state ELSE 'erased' END`,
});

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

/** Ends a resource. False: it had ended, or was never seen; then a tombstone is left all the same. */
export async function endResource(
  tx: Queryable,
  uuid: string,
  requestId: string | null,
  traceparent: string | null,
): Promise<boolean> {
  if (!(await lockWithCredential(tx, uuid))) {
    if ((await tx.query(leaveTombstoneOfUnseen, [uuid])).length > 0) return false;
    await lockWithCredential(tx, uuid);
  }
  return (await tx.query(leaveTombstone, [uuid, requestId, traceparent])).length > 0;
}

/**
 * Ends a provision that cannot be completed, in a transaction that has locked it with its credential. `onlyIfStranded`:
 * only if its grant can no longer be exchanged: then the platform can never be told that it is done. False: there was
 * none to end.
 */
export async function failLocked(
  tx: Queryable,
  vault: Vault,
  uuid: string,
  { onlyIfStranded = false } = {},
): Promise<boolean> {
  const message = "Provisioning failed. Please remove the add-on and install it again.";
  const answer = JSON.stringify({ id: "provision_failed", message });
  const values = [uuid, null, null, sealAnswer(vault, uuid, answer), onlyIfStranded];
  return (await tx.query(fail, values)).length > 0;
}

/** The same in a transaction of its own. */
export async function failProvision(
  { db, vault }: { db: Database; vault: Vault },
  uuid: string,
  how?: { onlyIfStranded: boolean },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockWithCredential(tx, uuid);
    return failLocked(tx, vault, uuid, how);
  });
}

// Lost grants stay lost, and accumulate over the years; few of them belong to a resource that is still provisioning. One
// that came back with a backup may have been completed since, and lives: an operator decides.
const stranded = statement(
  "find_stranded",
  `SELECT c.uuid FROM credentials c JOIN resources r USING (uuid)
   WHERE ${IS_STRANDED} AND ${whereCan("given_up")} AND r.answer_status IS NOT NULL
     AND NOT ${whereBroughtBack("r.created_at")} LIMIT 1000`,
);

/** Fails the put-off provisions whose grant was lost. */
export async function failStranded(ctx: { db: Database; vault: Vault; log: Log }): Promise<void> {
  for (const { uuid } of await ctx.db.readWhole<{ uuid: string }>(stranded))
    try {
      if (await failProvision(ctx, uuid, { onlyIfStranded: true }))
        ctx.log.warn({ uuid }, "A put-off provision fails: its grant can no longer be exchanged");
    } catch (error) {
      if (!isHeldUp(error)) throw error;
      ctx.log.warn(
        { uuid, error },
        "A put-off provision whose grant was lost is locked; the next tick fails it",
      );
    }
}
