import type { Database } from "../database/database.ts";
import { isConflict } from "../database/retry.ts";
import { anyRow, type Queryable, statement } from "../database/statement.ts";
import type { Log } from "../logging/log.ts";
import { whereBroughtBack } from "../processes/history-store.ts";
import type { Vault } from "../vault/vault.ts";
import { NOTICED } from "../work/lease.ts";
import { sealAnswer } from "./answers.ts";
import { whereCan } from "./states.ts";
import { IS_VENDOR_CALL, whereIn } from "./step-kinds.ts";
import { lockedResource } from "./store.ts";

// The statements that end a resource.

const lockCredential = statement<{ uuid: string }>("lock_credential_row").sql(
  `SELECT 1 FROM credentials WHERE uuid = :uuid FOR UPDATE`,
);

/**
 * Locks a resource and its credential until the transaction ends. A statement sees the snapshot of its start, so only a
 * statement that starts after the lock sees the steps that were inserted while the lock was awaited. Returns `false`,
 * and locks no row, if there is no such resource. The resource is locked first, as everywhere, to avoid deadlocks.
 */
export async function lockWithCredential(tx: Queryable, uuid: string): Promise<boolean> {
  const resource = await lockedResource(tx, uuid);
  if (resource) await tx.query(lockCredential, { uuid });
  return resource !== null;
}

/** `requestId` and `traceparent`: those of the request that ends the resource; `null` if no request does. */
export type End = { uuid: string } & Record<"requestId" | "traceparent", string | null>;

/**
 * SQL that ends a resource in one statement.
 *
 *   resources    the new state; every secret is erased
 *   credentials  every secret is erased; the lease number rises, so a call under way cannot store its result
 *   steps        all steps are deleted, a clean-up is written, with what it keeps of the resource
 *   events       the cause of the end, with `detail`, a jsonb that may read from `gone`
 */
export const ending = <Sets extends string, Where extends string>(
  event: string,
  {
    sets,
    where,
    credential,
    detail = "'{}'::jsonb",
  }: { sets: Sets; where: Where; credential: string; detail?: string },
) =>
  `WITH was AS (
     SELECT jsonb_build_object('kept', jsonb_build_object('name', name, 'options', options, 'createdAt', created_at,
       'endedAt', now(), 'suspendedAt', suspended_at, 'suspendReason', suspend_reason)) AS detail
     FROM resources WHERE uuid = :uuid
   ), gone AS (
     UPDATE resources r SET ${sets}, sealed_config = NULL, sealed_log_input_url = NULL, sealed_log_drain_token = NULL, updated_at = now()
     WHERE uuid = :uuid AND ${where} RETURNING uuid
   ), erased AS (
     UPDATE credentials c SET sealed_grant_code = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL,
       due_at = NULL, expires_at = NULL, grant_deadline = NULL,
       lease = c.lease + 1, leased_until = NULL, sent_at = NULL, ${credential}
     FROM gone WHERE c.uuid = gone.uuid
   ), cancelled AS (
     DELETE FROM steps s USING gone WHERE s.uuid = gone.uuid RETURNING s.kind, s.key, s.leased_until, s.attempts
   ), running AS (
     -- Calls of the vendor's functions, and a failure report that still waits for the end of such a call.
     SELECT s.leased_until AS until FROM cancelled s
       WHERE ${IS_VENDOR_CALL} OR (s.kind = 'report_failure' AND s.attempts = 0)
     UNION ALL SELECT ${NOTICED} FROM events
       WHERE uuid = :uuid AND type = 'customer_action' AND detail->>'state' = 'running' AND at > now() - interval '1 minute'
     UNION ALL SELECT ${NOTICED} FROM operator_actions
       WHERE uuid = :uuid AND state = 'running' AND action ~ '^(your-|kit action )' AND seen_at > now() - interval '1 minute'
   ), noticed AS (
     -- The clean-up begins when the running calls have noticed the end of the resource.
     SELECT greatest(max(until), ${NOTICED}) AS at FROM running WHERE until IS NOT NULL HAVING count(*) > 0
   ), cleaning AS (
     INSERT INTO steps (uuid, kind, detail, key, due_at, leased_until, request_id, traceparent)
     SELECT uuid, 'clean_up', (SELECT detail FROM was),
       -- A clean-up that was already written keeps its idempotency key.
       coalesce((SELECT key FROM cancelled WHERE kind = 'clean_up' LIMIT 1), gen_random_uuid()),
       coalesce((SELECT at FROM noticed), now()), (SELECT at FROM noticed),
       :requestId, coalesce(:traceparent, (SELECT c.traceparent FROM credentials c WHERE c.uuid = gone.uuid)) FROM gone
   )
   INSERT INTO events (uuid, type, detail) SELECT uuid, '${event}', ${detail} FROM gone RETURNING uuid` as const;

// SQL condition: the grant can no longer be exchanged. After an unknown outcome, a suspended process or one without its
// database may still hold the tokens and store them later. A quarantined code has expired after five minutes, even if its
// key is restored. A lost grant with a due time is excluded: the platform is queried about it once more.
export const IS_STRANDED = `(c.state = 'grant_lost' AND c.due_at IS NULL
    AND (c.reason = 'outcome_unknown' AND c.grant_deadline > now() - interval '2 minutes') IS NOT TRUE
  OR c.state = 'quarantined' AND c.generation = 0
    AND c.grant_deadline <= now() - CASE WHEN c.outcome_unknown THEN interval '2 minutes' ELSE interval '0' END)`;

/** SQL: what becomes of a resource and its credential that leave a tombstone. */
export const TOMBSTONE = {
  sets: `state = 'deprovisioned', name = NULL, options = '{}', callback_url = NULL, answer_status = NULL, sealed_answer = NULL,
       app_id = NULL, app_name = NULL, attached_as = NULL, suspended_at = NULL, suspend_reason = NULL`,
  credential: `state = 'erased', reason = NULL, last_error = NULL`,
} as const;

const leaveTombstone = statement<End, { uuid: string }>("deprovision").sql(
  ending("deprovisioned", { ...TOMBSTONE, where: whereCan("deprovision") }),
);

const fail = statement<End & { answer: Uint8Array; isOnlyStranded: boolean }, { uuid: string }>(
  "fail_locally",
).sql(
  ending("failed", {
    sets: `state = 'failed', answer_status = 422, sealed_answer = :answer`,
    where: `${whereCan("given_up")}
       AND (NOT :isOnlyStranded OR EXISTS (SELECT FROM credentials c WHERE c.uuid = :uuid AND ${IS_STRANDED}))`,
    credential: `state = CASE WHEN c.state = 'grant_lost' THEN c.state ELSE 'erased' END`,
  }),
);

const leaveTombstoneOfUnseen = statement<{ uuid: string }, { uuid: string }>("deprovision_unseen").sql(
  `WITH unseen AS (
     INSERT INTO resources (uuid, plan, state) VALUES (:uuid, '', 'deprovisioned')
     -- A provision of this uuid may be in an open transaction. The insert waits for its commit and then inserts no row;
     -- the caller locks that resource and ends it.
     ON CONFLICT (uuid) DO NOTHING RETURNING uuid
   ), erased AS (
     INSERT INTO credentials (uuid, state) SELECT uuid, 'erased' FROM unseen
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'deprovisioned_before_provision' FROM unseen RETURNING uuid`,
);

// A clean-up that fails for a month keeps no data of the customer any longer.
const forget = statement<{ uuid: string | null }>("forget_kept").sql(
  `UPDATE steps s SET detail = s.detail || jsonb_build_object('kept',
     s.detail->'kept' || '{"name": null, "options": {}, "suspendedAt": null, "suspendReason": null}')
   WHERE s.due_at IS NOT NULL AND s.${whereIn("vendor")} AND s.kind = 'clean_up' AND s.detail ? 'kept'
     AND (s.uuid = :uuid OR (:uuid::uuid IS NULL AND s.created_at < now() - interval '30 days'
       AND (s.detail->'kept'->>'name', s.detail->'kept'->'options', s.detail->'kept'->>'suspendReason')
         IS DISTINCT FROM (NULL, '{}'::jsonb, NULL)))`,
);

/** Erases the name and the options that the clean-up of one resource keeps; with `null`, of all that ended 30 days ago. */
export const forgetKept = (db: Queryable, uuid: string | null) => db.query(forget, { uuid });

/**
 * Ends a resource. Returns `false` if it had ended before, or if the uuid was not stored; an unknown uuid gets a
 * tombstone.
 */
export async function endResource(
  tx: Queryable,
  uuid: string,
  requestId: string | null,
  traceparent: string | null,
): Promise<boolean> {
  if (!(await lockWithCredential(tx, uuid))) {
    if (await anyRow(tx, leaveTombstoneOfUnseen, { uuid })) return false;
    await lockWithCredential(tx, uuid);
  }
  return anyRow(tx, leaveTombstone, { uuid, requestId, traceparent });
}

/**
 * Ends a provision that cannot be completed. The caller's transaction has locked the resource and its credential.
 * `onlyIfStranded`: only if the grant can no longer be exchanged; without tokens the platform cannot be informed that
 * the provision is done. Returns `false` if no provision was ended.
 */
export async function failLocked(
  tx: Queryable,
  vault: Vault,
  uuid: string,
  { onlyIfStranded = false } = {},
): Promise<boolean> {
  const message = "Provisioning failed. Please remove the add-on and install it again.";
  const answer = JSON.stringify({ id: "provision_failed", message });
  return anyRow(tx, fail, {
    uuid,
    requestId: null,
    traceparent: null,
    answer: sealAnswer(vault, uuid, answer),
    isOnlyStranded: onlyIfStranded,
  });
}

/** {@link failLocked} in a new transaction. */
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

// Rows with lost grants accumulate over the years, and few of them belong to a provisioning resource. A resource that a
// backup restored is left out: its provision may have been completed after the backup, so an operator decides.
const stranded = statement<Record<never, never>, { uuid: string }>("find_stranded").sql(
  `SELECT c.uuid FROM credentials c JOIN resources r USING (uuid)
   WHERE ${IS_STRANDED} AND ${whereCan("given_up")} AND r.answer_status IS NOT NULL
     AND NOT ${whereBroughtBack("r.created_at")} LIMIT 1000`,
);

/** Fails the asynchronous provisions whose grant was lost. */
export async function failStranded(ctx: { db: Database; vault: Vault; log: Log }): Promise<void> {
  for (const { uuid } of await ctx.db.readWhole(stranded))
    try {
      if (await failProvision(ctx, uuid, { onlyIfStranded: true }))
        ctx.log.warn({ uuid }, "Asynchronous provision failed: its grant can no longer be exchanged");
    } catch (error) {
      if (!isConflict(error)) throw error;
      ctx.log.warn(
        { uuid, error },
        "Asynchronous provision with a lost grant could not be failed: its row is locked; the next tick retries",
      );
    }
}
