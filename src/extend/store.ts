import { createHash } from "node:crypto";
import { statement, type Database, type Queryable } from "../database/database.ts";
import { whereHeld } from "../processes/history-store.ts";
import { lockedResource } from "../resources/store.ts";
import { BEFORE_ROTATIONS, HAS_TOKENS } from "../work/queue.ts";
import { whereIn } from "../work/step.ts";
import type { KitResource } from "./contract.ts";

// What a vendor's own routes and jobs read and write in the kit's tables.

const AS_KIT_RESOURCE = `SELECT r.uuid, r.name, r.plan, r.region, r.state,
     CASE WHEN r.app_id IS NOT NULL THEN jsonb_build_object('id', r.app_id, 'name', r.app_name) END AS app
   FROM resources r WHERE r.state IN ('provisioning', 'provisioned')`;
const find = statement("find_for_your_service", `${AS_KIT_RESOURCE} AND r.uuid = $1`);
const list = statement(
  "list_for_your_service",
  `${AS_KIT_RESOURCE} AND r.uuid > $1 ORDER BY r.uuid LIMIT 500`,
);

export const findForYou = async (db: Queryable, uuid: string) =>
  (await db.query<KitResource>(find, [uuid]))[0] ?? null;

export const listAfter = (db: Queryable, uuid: string) => db.query<KitResource>(list, [uuid]);

// Sent in the transaction that stores the change, so that whatever happens next the platform gets the vars. A step that
// waits for tokens serves; it is locked, so that nobody wakes it before this is committed. One that is due may be
// claimed, and have read the vars, already.
const announce = statement(
  "announce_config",
  `WITH noted AS (
     INSERT INTO events (uuid, type, detail) VALUES ($1, 'config_changed', jsonb_build_object('names', $2::text[]))
   )
   INSERT INTO steps (uuid, kind, due_at, traceparent)
   SELECT uuid, 'announce', CASE WHEN c.state IN (${HAS_TOKENS}) THEN now() END, $3
   FROM credentials c WHERE c.uuid = $1 AND NOT EXISTS (SELECT FROM steps s
     WHERE s.uuid = c.uuid AND s.kind = 'announce' AND s.due_at IS NULL AND NOT s.detail ? 'plan' FOR UPDATE)`,
);

/** `names`: of the vars that changed. */
export const announceConfig = (
  tx: Queryable,
  uuid: string,
  names: readonly string[],
  traceparent: string | null,
) => tx.query(announce, [uuid, names, traceparent]);

// Sent in a transaction that has locked the resource. Nothing is written while another rotation has not reached the
// app, or if an earlier try of this one ($2) was committed; nor while old credentials wait for the end of their
// overlap, unless an operator names the resource. What is asked for one resource stands before all that is due.
const rotation = statement(
  "write_rotation",
  `WITH open AS (
     SELECT key, kind FROM steps
     WHERE uuid = $1 AND (kind = 'rotate' OR key = $2 OR (kind = 'retire' AND $3::text <> 'operator'))
   ), free AS (
     SELECT CASE WHEN $3 IN ('operator', 'service')
       THEN ${BEFORE_ROTATIONS} ELSE now() END AS at
     FROM credentials WHERE uuid = $1 AND state IN (${HAS_TOKENS}, 'grant_pending') AND NOT EXISTS (SELECT FROM open)
   ), hastened AS (
     UPDATE steps s SET due_at = at FROM free WHERE s.uuid = $1 AND s.kind = 'retire' AND s.due_at > at
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT $1, 'rotation_asked', jsonb_build_object('by', CASE WHEN $3 LIKE 'operator%' THEN 'operator' ELSE $3 END) FROM free
   ), written AS (
     INSERT INTO steps (uuid, key, kind, due_at, traceparent) SELECT $1, $2, 'rotate', at, $4 FROM free
   )
   SELECT CASE WHEN EXISTS (SELECT FROM open WHERE key = $2) OR EXISTS (SELECT FROM free) THEN 'asked'
     WHEN EXISTS (SELECT FROM open WHERE kind = 'rotate') THEN 'under_way'
     WHEN EXISTS (SELECT FROM open) THEN 'overlap' ELSE 'no_tokens' END AS result`,
);

export type Asker = "operator" | "operator_of_all" | "service" | "timetable";

/**
 * `under_way`: the app does not have the credentials of the last rotation yet; `overlap`: the old ones are not retired
 * yet; `no_tokens`: the app could not get new ones.
 */
export type Asked = "asked" | "under_way" | "overlap" | "no_tokens";

/** Writes the step of a rotation, in a transaction that has locked the resource: unless it is "asked", nothing. */
export const writeRotation = async (
  tx: Queryable,
  { uuid, key, by, traceparent }: { uuid: string; key: string; by: Asker; traceparent: string | null },
) => (await tx.query<{ result: Asked }>(rotation, [uuid, key, by, traceparent]))[0]!.result;

// A resource that your service refused to rotate is left for a day. Of a large table some pages are read, others each
// time; and none are found while so many rotations are due that more would only wait.
const SAMPLE = `least(100, 100.0 * 2000 * current_setting('block_size')::int / greatest(pg_relation_size('resources'), 1))`;
const oldCredentials = statement(
  "find_old_credentials",
  `SELECT r.uuid FROM resources r TABLESAMPLE SYSTEM (${SAMPLE}) JOIN credentials c USING (uuid)
   WHERE r.state = 'provisioned' AND c.state = 'active' AND NOT ${whereHeld()}
     AND coalesce(r.rotated_at, r.created_at) < now() - make_interval(secs => $1::float8 * 86400)
     AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind IN ('rotate', 'retire'))
     AND NOT EXISTS (SELECT FROM events e
       WHERE e.uuid = r.uuid AND e.type = 'rotation_refused' AND e.at > now() - interval '1 day')
   LIMIT (SELECT 50 - count(*) FROM (SELECT FROM steps WHERE due_at <= now() AND ${whereIn("rotation")} LIMIT 50) due)`,
);

export const findOldCredentials = (db: Queryable, days: number) =>
  db.query<{ uuid: string }>(oldCredentials, [days]);

// The times of the jobs are the database's. A job whose cron expression was changed is planned anew.
const plan = statement(
  "plan_your_job",
  `INSERT INTO your_jobs (name, cron, due_at) VALUES ($1, $2, $3)
   ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, due_at = excluded.due_at WHERE your_jobs.cron <> excluded.cron`,
);

export const planJob = (db: Queryable, name: string, at: string, due: Date) =>
  db.query(plan, [name, at, due]);

export interface ClaimedJob {
  name: string;
  lease: number;
  /** Failed runs since the last one that worked. */
  attempts: number;
  /** The process of the last run died: that run is among `attempts`. */
  hasDied: boolean;
  trouble: JobTrouble | null;
  /** By the database's clock. */
  now: Date;
}

/** Of a job whose last run did not end well. */
export interface JobTrouble {
  error: string;
  /** When the first run began since which none has ended well. */
  since: Date;
  /** The regular time after that, by which one should have; null: not computed yet. */
  overdueAt: Date | null;
  alarmedAt: Date | null;
}

const LEASE = `interval '60 seconds'`;
// A run whose process died counts as failed, and is repeated after as long: it may be what the process died of.
const IS_FREE = `(leased_until IS NULL OR leased_until + make_interval(mins => (2 ^ least(attempts, 6))::int - 1) <= now())`;
const DIED = "Its process ended before it did.";
const claim = statement(
  "claim_your_jobs",
  `WITH free AS (
     SELECT name, leased_until IS NOT NULL AS died, last_error IS NOT NULL AS failed, coalesce(started_at, now()) AS began FROM your_jobs
     WHERE name = ANY($1::text[]) AND due_at <= now() AND ${IS_FREE} ORDER BY name FOR UPDATE
   ), claimed AS (
     UPDATE your_jobs j SET lease = lease + 1, leased_until = now() + ${LEASE}, started_at = now(),
       attempts = attempts + died::int, last_error = CASE WHEN died THEN '${DIED}' ELSE last_error END,
       failing_since = CASE WHEN failed THEN coalesce(failing_since, began) WHEN died THEN began END,
       overdue_at = CASE WHEN failed THEN overdue_at END, alarmed_at = CASE WHEN failed THEN alarmed_at END
     FROM free WHERE j.name = free.name RETURNING j.*, died
   )
   SELECT name, lease, attempts, died AS "hasDied", now() AS now, last_error AS error, failing_since AS since,
     overdue_at AS "overdueAt", alarmed_at AS "alarmedAt" FROM claimed`,
);

type ClaimedRow = Omit<ClaimedJob, "trouble"> & Omit<JobTrouble, "error"> & { error: string | null };

export async function claimJobs(db: Queryable, names: readonly string[]): Promise<ClaimedJob[]> {
  const rows = await db.query<ClaimedRow>(claim, [names]);
  return rows.map(({ error, since, overdueAt, alarmedAt, ...claimed }) => ({
    ...claimed,
    trouble: error === null ? null : { error, since, overdueAt, alarmedAt },
  }));
}

const hold = statement(
  "hold_your_job",
  `UPDATE your_jobs SET leased_until = now() + ${LEASE} WHERE name = $1 AND lease = $2 AND leased_until IS NOT NULL RETURNING name`,
);

/** Extends the lease. False: another process has taken the job over. */
export const holdJob = async (db: Queryable, { name, lease }: ClaimedJob) =>
  (await db.query(hold, [name, lease])).length > 0;

const end = statement(
  "end_your_job",
  `UPDATE your_jobs SET leased_until = NULL, ended_at = now(), due_at = $3, attempts = $4, last_error = $5,
     failing_since = $6, overdue_at = $7, alarmed_at = $8
   WHERE name = $1 AND lease = $2`,
);

export type RunEnd = { due: Date; attempts: number; trouble: JobTrouble | null };

export const endJob = (db: Queryable, { name, lease }: ClaimedJob, { due, attempts, trouble }: RunEnd) =>
  db.query(end, [name, lease, due, attempts, ...partsOf(trouble)]);

const note = statement(
  "note_trouble_of_your_job",
  `UPDATE your_jobs SET last_error = $3, failing_since = $4, overdue_at = $5, alarmed_at = $6 WHERE name = $1 AND lease = $2`,
);

/** Stores what is noticed when a run begins. */
export const noteTrouble = (db: Queryable, { name, lease }: ClaimedJob, trouble: JobTrouble) =>
  db.query(note, [name, lease, ...partsOf(trouble)]);

const partsOf = (trouble: JobTrouble | null) =>
  trouble ? [trouble.error, trouble.since, trouble.overdueAt, trouble.alarmedAt] : [null, null, null, null];

const next = statement(
  "next_of_your_jobs",
  `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM your_jobs
   WHERE name = ANY($1::text[]) AND ${IS_FREE}`,
);

export const nextJobInSeconds = async (db: Queryable, names: readonly string[]) =>
  (await db.query<{ seconds: number | null }>(next, [names]))[0]?.seconds ?? null;

// A customer's form that is sent twice, even to two processes, is one action. Not to be retried: if the answer to
// the first try was lost, the second would find the form used. One action of a resource at a time.
const beginAction = statement(
  "begin_customer_action",
  `WITH spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at)
     SELECT $2, now() + interval '2 hours' FROM resources WHERE uuid = $1 AND state IN ('provisioning', 'provisioned')
       AND NOT EXISTS (SELECT FROM events WHERE uuid = $1 AND type = 'customer_action'
         AND detail->>'state' = 'running' AND at > now() - interval '1 minute')
     ON CONFLICT DO NOTHING RETURNING 1
   )
   INSERT INTO events (uuid, type, detail) SELECT $1, 'customer_action', $3::jsonb || '{"state": "running"}' FROM spent RETURNING id`,
);
// Only a running one: what was erased stays erased.
const endAction = statement(
  "end_customer_action",
  `UPDATE events SET detail = detail || $3::jsonb WHERE uuid = $1 AND id = $2 AND detail->>'state' = 'running'`,
);
const actionOf = statement(
  "customer_action",
  `SELECT detail->>'said' AS said, CASE WHEN detail->>'state' = 'running' AND at < now() - interval '1 minute' THEN 'unknown'
     ELSE detail->>'state' END AS state
   FROM events WHERE uuid = $1 AND type = 'customer_action' AND detail->>'form' = $2`,
);

/** The state of a customer's action. `unknown`: its process ended before it did. */
export interface ActionEnd {
  state: "running" | "done" | "refused" | "failed" | "unknown";
  said: string | null;
}

/** Begins an action, in the story of its resource. Null: its form was sent before, or no action may begin just now. */
export async function beginCustomerAction(
  db: Database,
  uuid: string,
  detail: { form: string; action: string; user: string | null },
): Promise<number | null> {
  const spent = createHash("sha256").update(`form ${detail.form}`).digest();
  return db.transaction(async (tx) => {
    // So that the next statement sees an action that was begun while this one waited.
    await lockedResource(tx, uuid);
    return (
      (await tx.query<{ id: number }>(beginAction, [uuid, spent, JSON.stringify(detail)]))[0]?.id ?? null
    );
  });
}

export const endCustomerAction = (db: Queryable, uuid: string, id: number, end: ActionEnd) =>
  db.query(endAction, [uuid, id, JSON.stringify(end)]);

export const customerAction = async (db: Queryable, uuid: string, form: string) =>
  (await db.query<ActionEnd>(actionOf, [uuid, form]))[0] ?? null;
