import type { Context } from "../context.ts";
import { retryWhileDatabaseAway, statement, type Queryable } from "../database/database.ts";
import { isIn, STEP_LEASE_SECONDS } from "../work/step.ts";
import { sealAnswer } from "./answers.ts";
import { mayBe } from "./states.ts";
import { lockedResource } from "./store.ts";

// The statements that end a resource, and the import of those from before the kit. Each end is one statement: the row's
// state, every secret, the credential (its lease number rises, so that a call under way stores nothing), the steps, and
// a clean-up, which begins only when running work has noticed: it inherits the latest `leased_until` of the deleted
// steps, or that of a provision that has no step yet.

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

// If the provision had failed and a clean-up existed already, the new one keeps its key.
const leaveTombstone = statement(
  "deprovision",
  `WITH gone AS (
     UPDATE resources r SET state = 'deprovisioned', name = NULL, options = '{}', callback_url = NULL, answer_status = NULL,
       sealed_answer = NULL, sealed_config = NULL, sealed_log_input_url = NULL, sealed_log_drain_token = NULL,
       app_id = NULL, app_name = NULL, updated_at = now()
     WHERE uuid = $1 AND ${mayBe("deprovision")} RETURNING uuid
   ), erased AS (
     UPDATE credentials c SET state = 'erased', reason = NULL, sealed_grant_code = NULL, sealed_access_token = NULL,
       sealed_refresh_token = NULL, due_at = NULL, expires_at = NULL, grant_deadline = NULL,
       lease = c.lease + 1, leased_until = NULL, sent_at = NULL, last_error = NULL
     FROM gone WHERE c.uuid = gone.uuid
   ), cancelled AS (
     DELETE FROM steps s USING gone WHERE s.uuid = gone.uuid RETURNING s.kind, s.key, s.leased_until
   ), running AS (
     SELECT created_at + interval '${STEP_LEASE_SECONDS} seconds' AS until FROM resources
     WHERE uuid = $1 AND state = 'provisioning' AND answer_status IS NULL
   ), cleaning AS (
     INSERT INTO steps (uuid, kind, key, due_at, leased_until, request_id, traceparent)
     SELECT uuid, 'clean_up', coalesce((SELECT key FROM cancelled WHERE kind = 'clean_up' LIMIT 1), gen_random_uuid()), now(),
       greatest((SELECT max(leased_until) FROM cancelled), (SELECT until FROM running)), $2, $3 FROM gone
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

const fail = statement(
  "fail_locally",
  `WITH failed AS (
     UPDATE resources r SET state = 'failed', answer_status = 422, sealed_answer = $2, sealed_config = NULL,
       sealed_log_input_url = NULL, sealed_log_drain_token = NULL, updated_at = now()
     WHERE uuid = $1 AND ${mayBe("given_up")}
       AND (NOT $3 OR EXISTS (SELECT 1 FROM credentials c WHERE c.uuid = $1 AND c.state = 'grant_lost')) RETURNING uuid
   ), erased AS (
     UPDATE credentials c SET state = CASE WHEN c.state = 'grant_lost' THEN c.state ELSE 'erased' END,
       sealed_grant_code = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL, due_at = NULL,
       grant_deadline = NULL, lease = c.lease + 1, leased_until = NULL, sent_at = NULL
     FROM failed WHERE c.uuid = failed.uuid
   ), cancelled AS (DELETE FROM steps s USING failed WHERE s.uuid = failed.uuid RETURNING s.kind, s.leased_until
   ), cleaned AS (
     INSERT INTO steps (uuid, kind, due_at, leased_until, traceparent)
     SELECT uuid, 'clean_up', now(), (SELECT max(leased_until) FROM cancelled WHERE ${isIn("vendor")}),
       (SELECT c.traceparent FROM credentials c WHERE c.uuid = failed.uuid) FROM failed
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'failed' FROM failed RETURNING uuid`,
);

/**
 * Ends a provision that cannot be completed, in a transaction that has locked it with its credential. `onlyIfStranded`:
 * only if its grant was lost: then the platform can never be told that it is done.
 */
export async function failLocked(
  tx: Queryable,
  vault: Context["vault"],
  uuid: string,
  { onlyIfStranded = false } = {},
): Promise<void> {
  const message = "Provisioning failed. Please remove the add-on and install it again.";
  const answer = JSON.stringify({ id: "provision_failed", message });
  await tx.query(fail, [uuid, sealAnswer(vault, uuid, answer), onlyIfStranded]);
}

/** The same in a transaction of its own. */
export async function failProvision(
  { db, vault }: Pick<Context, "db" | "vault">,
  uuid: string,
  how?: { onlyIfStranded: boolean },
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockWithCredential(tx, uuid);
    await failLocked(tx, vault, uuid, how);
  });
}

// Lost grants stay lost, and accumulate over the years; few of them belong to a resource that is still provisioning.
const stranded = statement(
  "find_stranded",
  `SELECT c.uuid FROM credentials c JOIN resources r USING (uuid)
   WHERE c.state = 'grant_lost' AND ${mayBe("given_up")} AND r.answer_status IS NOT NULL LIMIT 1000`,
);

/** Fails the put-off provisions whose grant was lost, and whose process died before it did that. */
export async function failStranded(ctx: Pick<Context, "db" | "vault">): Promise<void> {
  for (const { uuid } of await ctx.db.readWhole<{ uuid: string }>(stranded))
    await failProvision(ctx, uuid, { onlyIfStranded: true });
}

// Both rows in one statement, as for a provision, and never over an existing row: a provision, a deprovision or another
// import of the same uuid at the same moment either comes first and stands, or waits and finds these rows. The answer
// is stored as if the kit had given it, so that a repeated provision gets a success and its grant is taken. Before that
// there is no grant; this raises no alarm, for nothing went wrong.
const importAll = statement(
  "import_resources",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bytea[]) AS i(uuid, plan, region, name, answer)
   ), born AS (
     INSERT INTO resources (uuid, plan, applied_plan, region, name, state, answer_status, sealed_answer)
     SELECT uuid, plan, plan, region, name, 'provisioned', 200, answer FROM incoming
     ON CONFLICT (uuid) DO NOTHING RETURNING uuid
   ), credential AS (
     INSERT INTO credentials (uuid, state) SELECT uuid, 'no_grant' FROM born ON CONFLICT (uuid) DO NOTHING
   ), told AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'imported' FROM born
   )
   SELECT uuid FROM born`,
);

/** Once provisioned by another service or by a person. */
export interface Installation {
  uuid: string;
  plan: string;
  region: string | null;
  name: string | null;
}

/** Writes installations whose uuids differ; returns the uuids that were new. Harmless to repeat. */
export async function importResources(
  { db, vault }: { db: Queryable; vault: Context["vault"] },
  installations: readonly Installation[],
): Promise<Set<string>> {
  // Always in the order of uuids: two imports of the same uuids then wait for each other instead of deadlocking.
  const rows = installations.toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1));
  const values = [
    rows.map(({ uuid }) => uuid),
    rows.map(({ plan }) => plan),
    rows.map(({ region }) => region),
    rows.map(({ name }) => name),
    rows.map(({ uuid }) => sealAnswer(vault, uuid, JSON.stringify({ id: uuid }))),
  ];
  const born = await retryWhileDatabaseAway(() => db.query<{ uuid: string }>(importAll, values));
  return new Set(born.map(({ uuid }) => uuid));
}
