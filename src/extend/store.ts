import { createHash } from "node:crypto";
import type { Context } from "../context.ts";
import { databaseClock } from "../database/clock.ts";
import type { Database } from "../database/database.ts";
import { oneRow, type Queryable, statement } from "../database/statement.ts";
import { meaningOf, type PlanMeans } from "../offer.ts";
import { type Options, optionsLeft } from "../options.ts";
import { whereHeld } from "../processes/history-store.ts";
import { namesInApp } from "../resources/names-in-app.ts";
import { BEFORE_ROTATIONS, HAS_TOKENS, whereIn, whereOfPlanChange } from "../resources/step-kinds.ts";
import { lockedResource } from "../resources/store.ts";
import type { KitResource, ResourceFilter } from "./contract.ts";

// The statements for a vendor's own routes, jobs and actions on the kit's tables.

const KIT_RESOURCE = `r.uuid, r.name, r.plan, r.region, r.options, r.state, r.created_at AS "createdAt", NULL::timestamptz AS "endedAt",
     r.suspended_at AS "suspendedAt", r.suspend_reason AS "suspendReason",
     EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind IN ('change_plan', 'finish') AND ${whereOfPlanChange("s")}) AS "isChangingPlan", r.attached_as AS "attachedAs",
     CASE WHEN r.app_id IS NOT NULL THEN jsonb_build_object('id', r.app_id, 'name', r.app_name) END AS app`;
const IS_ALIVE = `r.state IN ('provisioning', 'provisioned')`;
/** As it is stored: what its plan means stands in the offer, and how its options are read. */
type Row = Omit<KitResource, keyof PlanMeans | "options" | "suspended" | "configVarNames"> & {
  options: Options;
  attachedAs: string | null;
  suspendedAt: Date | null;
  suspendReason: string | null;
};
type Sells = Pick<Context, "db" | "offer">;
const find = statement<{ uuid: string }, Row>("find_for_your_service").sql(
  `SELECT ${KIT_RESOURCE} FROM resources r WHERE ${IS_ALIVE} AND r.uuid = :uuid`,
);

function kitResource(
  { offer }: Sells,
  { suspendedAt: since, suspendReason: reason, attachedAs, ...row }: Row,
): KitResource {
  const options = optionsLeft(offer.options, row.options);
  const suspended = since && { since, reason: reason! };
  const configVarNames = namesInApp(offer, attachedAs);
  return { ...row, ...meaningOf(offer, row.plan), options, suspended, configVarNames };
}

export async function findForVendor(
  ctx: Sells,
  uuid: string,
  { state }: Pick<ResourceFilter, "state"> = {},
): Promise<KitResource | null> {
  const row = await oneRow(ctx.db, state === "deprovisioning" ? findEnded : find, { uuid });
  return row && (state ?? row.state) === row.state ? kitResource(ctx, row) : null;
}

// An ended resource is erased: what its clean-up still needs of it stands in the step, until that is done.
const ENDED = `r.uuid, s.detail->'kept'->>'name' AS name, r.plan, r.region, coalesce(s.detail->'kept'->'options', '{}') AS options,
     'deprovisioning' AS state, r.created_at AS "createdAt", coalesce((s.detail->'kept'->>'endedAt')::timestamptz, s.created_at) AS "endedAt",
     (s.detail->'kept'->>'suspendedAt')::timestamptz AS "suspendedAt", s.detail->'kept'->>'suspendReason' AS "suspendReason",
     false AS "isChangingPlan", NULL AS "attachedAs", NULL::jsonb AS app
   FROM steps s JOIN resources r ON r.uuid = s.uuid
   WHERE s.kind = 'clean_up' AND r.state = 'deprovisioned' AND r.plan <> ''`;
const findEnded = statement<{ uuid: string }, Row>("find_ended_for_your_service").sql(
  `SELECT ${ENDED} AND s.uuid = :uuid`,
);

// Reads a fixed number of rows by the primary key, however few of them are wanted: a filter of a large table must not make a
// statement slow. `upTo`: the last row that was read; `null` at the end of the table.
const SCANNED = 1_000;
type Wanted = { [Filter in keyof ResourceFilter]-?: ResourceFilter[Filter] | null };
type Scanned = { upTo: string | null } & (Row | Record<keyof Row, null>);
const IS_WANTED = `(:plan::text IS NULL OR r.plan = :plan) AND (:region::text IS NULL OR r.region = :region)
       AND (:createdBefore::timestamptz IS NULL OR r.created_at < :createdBefore)
       AND (:createdAfter::timestamptz IS NULL OR r.created_at >= :createdAfter)` as const;
const list = statement<Wanted & { after: string }, Scanned>("list_for_your_service").sql(
  `WITH page AS MATERIALIZED (
     SELECT uuid, name, plan, region, options, state, created_at, suspended_at, suspend_reason, attached_as, app_id, app_name FROM resources
     WHERE uuid > :after ORDER BY uuid LIMIT ${SCANNED}
   )
   SELECT last.uuid AS "upTo", found.*
   FROM (SELECT uuid FROM page ORDER BY uuid DESC LIMIT 1) last LEFT JOIN LATERAL (
     SELECT ${KIT_RESOURCE} FROM page r
     WHERE ${IS_ALIVE} AND ${IS_WANTED} AND (:state::text IS NULL OR r.state = :state)
       AND (:suspended::bool IS NULL OR (r.suspended_at IS NOT NULL) = :suspended)) found ON true
   ORDER BY found.uuid`,
);

// Few among the steps, which are few among the resources.
const listEnded = statement<Omit<Wanted, "state"> & { after: string }, Row>(
  "list_ended_for_your_service",
).sql(
  `SELECT * FROM (SELECT ${ENDED} AND s.uuid > :after AND ${IS_WANTED}) ended
   WHERE :suspended::bool IS NULL OR ("suspendedAt" IS NOT NULL) = :suspended ORDER BY uuid LIMIT ${SCANNED}`,
);

/** A page of the resources wanted, in the order of their uuids. `upTo`: where the next page begins; `null`: there is none. */
export async function listForVendor(ctx: Sells, after: string, filter: ResourceFilter) {
  const { plan = null, region = null, state = null, suspended = null } = filter;
  const { createdBefore = null, createdAfter = null } = filter;
  const wanted = { after, plan, region, suspended, createdBefore, createdAfter };
  if (state === "deprovisioning") {
    const rows = await ctx.db.query(listEnded, wanted);
    return { resources: rows.map((row) => kitResource(ctx, row)), upTo: rows.at(-1)?.uuid ?? null };
  }
  const rows = await ctx.db.query(list, { ...wanted, state });
  const resources = rows.flatMap(({ upTo: _, ...row }) => (row.uuid === null ? [] : [kitResource(ctx, row)]));
  return { resources, upTo: rows[0]?.upTo ?? null };
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
