import { createHash } from "node:crypto";
import type { Context } from "../context.ts";
import type { YourJob as JobModel } from "../database/client/client.ts";
import { databaseClock } from "../database/clock.ts";
import type { Database } from "../database/database.ts";
import { anyRow, oneRow, type Queryable, statement, type Stored } from "../database/statement.ts";
import { meaningOf, type PlanMeans } from "../offer.ts";
import { whereHeld } from "../processes/history-store.ts";
import { BEFORE_ROTATIONS, HAS_TOKENS, whereIn } from "../resources/step-kinds.ts";
import { lockedResource } from "../resources/store.ts";
import { hold as held, isFree, type NextDue, take } from "../work/lease.ts";
import type { KitResource } from "./contract.ts";

// The statements for a vendor's own routes, jobs and actions on the kit's tables.

/** A resource as it is stored: what its plan means stands in the offer. */
type StoredResource = Omit<KitResource, keyof PlanMeans>;
type Sells = Pick<Context, "db" | "offer">;

const AS_KIT_RESOURCE = `SELECT r.uuid, r.name, r.plan, r.region, r.state,
     CASE WHEN r.app_id IS NOT NULL THEN jsonb_build_object('id', r.app_id, 'name', r.app_name) END AS app
   FROM resources r WHERE r.state IN ('provisioning', 'provisioned')`;
const find = statement<{ uuid: string }, StoredResource>("find_for_your_service").sql(
  `${AS_KIT_RESOURCE} AND r.uuid = :uuid`,
);
const list = statement<{ after: string }, StoredResource>("list_for_your_service").sql(
  `${AS_KIT_RESOURCE} AND r.uuid > :after ORDER BY r.uuid LIMIT 500`,
);

export async function findForVendor({ db, offer }: Sells, uuid: string): Promise<KitResource | null> {
  const row = await oneRow(db, find, { uuid });
  return row && { ...row, ...meaningOf(offer, row.plan) };
}

export async function listAfter({ db, offer }: Sells, after: string): Promise<KitResource[]> {
  return (await db.query(list, { after })).map((row) => ({ ...row, ...meaningOf(offer, row.plan) }));
}

// Writes an announcement of changed config vars, in the transaction that stores them, so that the platform gets them in any
// case. An announcement that waits for tokens suffices; it is locked, so that it does not run before this commit. A due one
// does not suffice: it may be claimed and have read the earlier vars.
type Announce = { uuid: string; names: readonly string[]; traceparent: string | null };
const announce = statement<Announce>("announce_config").sql(
  `WITH noted AS (
     INSERT INTO events (uuid, type, detail) VALUES (:uuid, 'config_changed', jsonb_build_object('names', :names::text[]))
   )
   INSERT INTO steps (uuid, kind, due_at, traceparent)
   SELECT uuid, 'announce', CASE WHEN c.state IN (${HAS_TOKENS}) THEN now() END, :traceparent
   FROM credentials c WHERE c.uuid = :uuid AND NOT EXISTS (SELECT FROM steps s
     WHERE s.uuid = c.uuid AND s.kind = 'announce' AND s.due_at IS NULL AND NOT s.detail ? 'plan' FOR UPDATE)`,
);

/** `names`: the changed vars. */
export const announceConfig = (tx: Queryable, change: Announce) => tx.query(announce, change);

interface Wish {
  uuid: string;
  key: string;
  by: Asker;
  traceparent: string | null;
}
// Runs in a transaction that has locked the resource.
const rotation = statement<Wish, { result: Asked }>("write_rotation").sql(
  `WITH open AS (
     -- The steps that prevent a rotation. A rotation that has not reached the app. The same request, committed by an earlier
     -- attempt. Old credentials in their overlap, unless an operator names the resource.
     SELECT key, kind FROM steps
     WHERE uuid = :uuid AND (kind = 'rotate' OR key = :key OR (kind = 'retire' AND :by::text <> 'operator'))
   ), free AS (
     -- A rotation that was requested for one resource runs before the scheduled ones.
     SELECT CASE WHEN :by IN ('operator', 'service') THEN ${BEFORE_ROTATIONS} ELSE now() END AS at
     FROM credentials WHERE uuid = :uuid AND state IN (${HAS_TOKENS}, 'grant_pending') AND NOT EXISTS (SELECT FROM open)
   ), hastened AS (
     UPDATE steps s SET due_at = at FROM free WHERE s.uuid = :uuid AND s.kind = 'retire' AND s.due_at > at
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT :uuid, 'rotation_asked', jsonb_build_object('by', CASE WHEN :by LIKE 'operator%' THEN 'operator' ELSE :by END) FROM free
   ), written AS (
     INSERT INTO steps (uuid, key, kind, due_at, traceparent) SELECT :uuid, :key, 'rotate', at, :traceparent FROM free
   )
   SELECT CASE WHEN EXISTS (SELECT FROM open WHERE key = :key) OR EXISTS (SELECT FROM free) THEN 'asked'
     WHEN EXISTS (SELECT FROM open WHERE kind = 'rotate') THEN 'under_way'
     WHEN EXISTS (SELECT FROM open) THEN 'overlap' ELSE 'no_tokens' END AS result`,
);

export type Asker = "operator" | "operator_of_all" | "service" | "timetable";

/**
 * The result of a request. `under_way`: the app does not have the credentials of the last rotation yet. `overlap`: the old
 * credentials are not retired yet. `no_tokens`: without tokens the app cannot get new credentials.
 */
export type Asked = "asked" | "under_way" | "overlap" | "no_tokens";

/** Writes the step of a rotation if the result is `asked`. The caller's transaction has locked the resource. */
export const writeRotation = async (tx: Queryable, wish: Wish) => (await oneRow(tx, rotation, wish))!.result;

// Finds resources whose credentials are old. A resource whose rotation was refused is left out for a day. Of a large table
// a random sample of pages is read each time. No resource is returned while 50 rotations are due, as more would only wait.
const SAMPLE = `least(100, 100.0 * 2000 * current_setting('block_size')::int / greatest(pg_relation_size('resources'), 1))`;
const oldCredentials = statement<{ days: number }, { uuid: string }>("find_old_credentials").sql(
  `SELECT r.uuid FROM resources r TABLESAMPLE SYSTEM (${SAMPLE}) JOIN credentials c USING (uuid)
   WHERE r.state = 'provisioned' AND c.state = 'active' AND NOT ${whereHeld()}
     AND coalesce(r.rotated_at, r.created_at) < now() - make_interval(secs => :days::float8 * 86400)
     AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind IN ('rotate', 'retire'))
     AND NOT EXISTS (SELECT FROM events e
       WHERE e.uuid = r.uuid AND e.type = 'rotation_refused' AND e.at > now() - interval '1 day')
   LIMIT (SELECT 50 - count(*) FROM (SELECT FROM steps WHERE due_at <= now() AND ${whereIn("rotation")} LIMIT 50) due)`,
);

export const findOldCredentials = (db: Queryable, days: number) => db.query(oldCredentials, { days });

// All times of the jobs are the database's.
const plan = statement<{ name: string; at: string; due: Date }>("plan_your_job").sql(
  `INSERT INTO your_jobs (name, cron, due_at) VALUES (:name, :at, :due)
   -- A job is planned again if its cron expression was changed.
   ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, due_at = excluded.due_at WHERE your_jobs.cron <> excluded.cron`,
);

export const planJob = (db: Queryable, name: string, at: string, due: Date) =>
  db.query(plan, { name, at, due });

export interface ClaimedJob {
  name: string;
  lease: number;
  /** The number of failed runs since the last successful run. */
  attempts: number;
  /** The process of the previous run died. That run is counted in `attempts`. */
  hasDied: boolean;
  trouble: JobTrouble | null;
  /** By the database's clock. */
  now: Date;
}

/** The trouble of a job whose last run has not succeeded. */
export interface JobTrouble {
  error: string;
  /** The start of the first run since the last success. */
  since: Date;
  /** The next regular time after `since`, by which a run should have succeeded; `null` if not computed yet. */
  overdueAt: Date | null;
  alarmedAt: Date | null;
}

const LEASE_SECONDS = 60;
// A run whose process died counts as failed and is repeated after the same pause, because the job may have caused the death.
const IS_FREE = isFree("your_jobs", "make_interval(mins => (2 ^ least(your_jobs.attempts, 6))::int - 1)");
const DIED = "The process ended before the job had ended.";
type ClaimedRow = Omit<ClaimedJob, "trouble"> & Omit<JobTrouble, "error"> & { error: string | null };
const claim = statement<{ names: readonly string[] }, ClaimedRow>("claim_your_jobs").sql(
  `WITH free AS (
     SELECT name, leased_until IS NOT NULL AS died, last_error IS NOT NULL AS failed, coalesce(started_at, now()) AS began FROM your_jobs
     WHERE name = ANY(:names::text[]) AND due_at <= now() AND ${IS_FREE} ORDER BY name FOR UPDATE
   ), claimed AS (
     UPDATE your_jobs j SET ${take("j", LEASE_SECONDS)}, started_at = now(),
       attempts = attempts + died::int, last_error = CASE WHEN died THEN '${DIED}' ELSE last_error END,
       failing_since = CASE WHEN failed THEN coalesce(failing_since, began) WHEN died THEN began END,
       overdue_at = CASE WHEN failed THEN overdue_at END, alarmed_at = CASE WHEN failed THEN alarmed_at END
     FROM free WHERE j.name = free.name RETURNING j.*, died
   )
   SELECT name, lease, attempts, died AS "hasDied", now() AS now, last_error AS error, failing_since AS since,
     overdue_at AS "overdueAt", alarmed_at AS "alarmedAt" FROM claimed`,
);

export async function claimJobs(db: Queryable, names: readonly string[]): Promise<ClaimedJob[]> {
  const rows = await db.query(claim, { names });
  return rows.map(({ error, since, overdueAt, alarmedAt, ...claimed }) => ({
    ...claimed,
    trouble: error === null ? null : { error, since, overdueAt, alarmedAt },
  }));
}

type JobClaim = Pick<ClaimedJob, "name" | "lease">;
const hold = statement<JobClaim, { name: string }>("hold_your_job").sql(
  `UPDATE your_jobs SET ${held(LEASE_SECONDS)}
   WHERE name = :name AND lease = :lease AND leased_until IS NOT NULL RETURNING name`,
);

/** Extends the lease. Returns `false` if another process has taken the job. */
export const holdJob = (db: Queryable, job: JobClaim) => anyRow(db, hold, job);

/** The columns of a {@link JobTrouble}. */
type StoredTrouble = Pick<Stored<JobModel>, "lastError" | "failingSince" | "overdueAt" | "alarmedAt">;

const end = statement<JobClaim & StoredTrouble & { due: Date; attempts: number }>("end_your_job").sql(
  `UPDATE your_jobs SET leased_until = NULL, ended_at = now(), due_at = :due, attempts = :attempts, last_error = :lastError,
     failing_since = :failingSince, overdue_at = :overdueAt, alarmed_at = :alarmedAt
   WHERE name = :name AND lease = :lease`,
);

export type RunEnd = { due: Date; attempts: number; trouble: JobTrouble | null };

export const endJob = (db: Queryable, { name, lease }: JobClaim, { due, attempts, trouble }: RunEnd) =>
  db.query(end, { name, lease, due, attempts, ...stored(trouble) });

const note = statement<JobClaim & StoredTrouble>("note_trouble_of_your_job").sql(
  `UPDATE your_jobs SET last_error = :lastError, failing_since = :failingSince, overdue_at = :overdueAt, alarmed_at = :alarmedAt
   WHERE name = :name AND lease = :lease`,
);

/** Stores the trouble of the previous run at the start of the next one. */
export const noteTrouble = (db: Queryable, { name, lease }: JobClaim, trouble: JobTrouble) =>
  db.query(note, { name, lease, ...stored(trouble) });

function stored(trouble: JobTrouble | null): StoredTrouble {
  const { error = null, since = null, overdueAt = null, alarmedAt = null } = trouble ?? {};
  return { lastError: error, failingSince: since, overdueAt, alarmedAt };
}

const next = statement<{ names: readonly string[] }, NextDue>("next_of_your_jobs").sql(
  `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM your_jobs
   WHERE name = ANY(:names::text[]) AND ${IS_FREE}`,
);

export const nextJobInSeconds = async (db: Queryable, names: readonly string[]) =>
  (await oneRow(db, next, { names }))?.seconds ?? null;

// A customer's form that is submitted twice, even to two processes, runs one action. A resource has one running action at a
// time. The statement must not be retried: after a lost acknowledgement the retry would find the form used.
type BeginAction = { uuid: string; spent: Uint8Array; detail: string };
const beginAction = statement<BeginAction, { id: number }>("begin_customer_action").sql(
  `WITH spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at)
     SELECT :spent, now() + interval '2 hours' FROM resources WHERE uuid = :uuid AND state IN ('provisioning', 'provisioned')
       AND NOT EXISTS (SELECT FROM events WHERE uuid = :uuid AND type = 'customer_action'
         AND detail->>'state' = 'running' AND at > now() - interval '1 minute')
     ON CONFLICT DO NOTHING RETURNING 1
   )
   INSERT INTO events (uuid, type, detail) SELECT :uuid, 'customer_action', :detail::jsonb || '{"state": "running"}' FROM spent RETURNING id`,
);
const endAction = statement<{ uuid: string; id: number; detail: string }>("end_customer_action").sql(
  `UPDATE events SET detail = detail || :detail::jsonb
   -- Only a running action is ended, so that erased details are not written again.
   WHERE uuid = :uuid AND id = :id AND detail->>'state' = 'running'`,
);

/** The state of a customer's action. `unknown`: the process ended before the action did. */
export interface ActionEnd {
  state: "running" | "done" | "refused" | "failed" | "unknown";
  said: string | null;
}

/**
 * Records the begin of a customer's action as an event of its resource. Returns `null` if the form was submitted before,
 * another action is running, or the resource has ended.
 */
export async function beginCustomerAction(
  db: Database,
  uuid: string,
  detail: { form: string; action: string; user: string | null },
): Promise<number | null> {
  const spent = createHash("sha256").update(`form ${detail.form}`).digest();
  return db.transaction(async (tx) => {
    // Locked first, so that the next statement sees an action that began while this transaction waited.
    await lockedResource(tx, uuid);
    return (await oneRow(tx, beginAction, { uuid, spent, detail: JSON.stringify(detail) }))?.id ?? null;
  });
}

export const endCustomerAction = (db: Queryable, uuid: string, id: number, end: ActionEnd) =>
  db.query(endAction, { uuid, id, detail: JSON.stringify(end) });

/** After so long its process has died: no action takes longer. */
export const LONGEST_ACTION_MS = 60_000;

/** What came of the action that this form asked for; `null` if there was none. */
export async function customerAction(db: Database, uuid: string, form: string): Promise<ActionEnd | null> {
  const { event } = await db.prisma();
  const where = { uuid, type: "customer_action", detail: { path: ["form"], equals: form } };
  const found = await event.findFirst({ where });
  if (!found) return null;
  const { state, said = null } = found.detail as object as Partial<ActionEnd>;
  const isOver = (await databaseClock(db)) - found.at.getTime() > LONGEST_ACTION_MS;
  return { state: state === "running" && isOver ? "unknown" : state!, said };
}
