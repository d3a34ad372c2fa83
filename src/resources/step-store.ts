import { isDeepStrictEqual } from "node:util";
import { anyRow, oneRow, type Queryable } from "../database/database.ts";
import { statement } from "../database/statement.ts";
import type { Named } from "../platform/types.ts";
import type { Vault } from "../vault/vault.ts";
import { IS_OURS, UNSAID } from "../work/queue.ts";
import type { Claim } from "../work/step.ts";
import type { Result } from "./answers.ts";
import { mergedSet, openConfig, sealConfig, wantedOf } from "./config-vars.ts";
import { whereCan } from "./states.ts";
import { BEFORE_ROTATIONS, HAS_TOKENS, whereAnnouncing, whereOfPlanChange, type Step } from "./step.ts";
import { findResource } from "./store.ts";

// What a step leaves behind, written together with its end: the config vars wanted, the plan, and the next step, without
// a due time while it needs tokens. Every statement is fenced by the step's lease, so the work of a process that was
// overtaken, or of a deprovisioned resource, is dropped; and by its kind: a try whose acknowledgement was lost may have
// taken effect.

/** How long replaced credentials work beside the new ones, unless your service says otherwise. */
const USUAL_OVERLAP_MINUTES = 120;

const CREDENTIAL = `(SELECT c.state FROM credentials c WHERE c.uuid = s.uuid)`;

// The vendor's result of work whose caller was answered already:
//
//   steps ─┬─ refused, of a plan change or rotation ─▶ deleted; the resource stays as it is
//          └─ else turned: done ─▶ announce (a rotation stays, with what it replaced)
//                          later ─▶ finish
//                          refused ─▶ report_failure: the platform must be told
//   resources ─ done ─▶ the config vars and the plan
//   events    ─ what happened
//
// The resource is locked first: while another statement ends it, its step does not end here.
type Settle = Claim & {
  is: Result["is"];
  /** The config vars as they were read, and as they are to be. */
  seen: Uint8Array | null;
  config: Uint8Array | null;
  /** JSON of what a rotation replaced. */
  retires: string | null;
};
const settle = statement<Settle, { isAccepted: boolean }>("settle_steps").sql(
  `WITH ours AS (
     SELECT s.id, s.uuid, s.kind, s.detail, ${whereOfPlanChange("s")} AS of_change,
       :is::text = 'refused' AND (${whereOfPlanChange("s")} OR s.kind = 'rotate') AS is_dropped,
       coalesce(s.detail->>'plan', r.plan) AS plan
     FROM steps s JOIN resources r ON r.uuid = s.uuid
     WHERE ${IS_OURS} AND s.kind IN ('provision', 'finish', 'change_plan', 'rotate') AND ${whereCan("change_plan")}
       -- An operator may have set a config var since they were read: then they are read again.
       AND (:is::text <> 'done' OR r.sealed_config IS NOT DISTINCT FROM :seen::bytea)
     FOR UPDATE OF r
   ), dropped AS (
     DELETE FROM steps s USING ours o WHERE s.id = o.id AND s.lease = :lease AND o.is_dropped
     RETURNING o.uuid, o.kind, o.of_change, s.detail
   ), next AS (
     UPDATE steps s SET attempts = 0, leased_until = NULL, last_error = NULL,
       -- A rotation keeps its kind, so its lease number says that this is done.
       lease = s.lease + (o.kind = 'rotate')::int,
       kind = CASE WHEN o.kind = 'rotate' THEN s.kind WHEN :is = 'done' THEN 'announce'
         WHEN :is = 'later' THEN 'finish' ELSE 'report_failure' END,
       -- Due once the platform can be called; what needs no tokens is due unless a pending grant may still bring them.
       due_at = CASE WHEN :is = 'done' AND ${CREDENTIAL} IN (${HAS_TOKENS})
         OR :is <> 'done' AND ${CREDENTIAL} IS DISTINCT FROM 'grant_pending'
         -- An app has its new credentials before others are made for the next resource.
         THEN CASE WHEN o.kind = 'rotate' THEN ${BEFORE_ROTATIONS} ELSE now() END END,
       detail = CASE WHEN :is = 'later' AND o.of_change THEN s.detail || '{"isAccepted": true}'
         WHEN o.kind = 'rotate' THEN jsonb_build_object('retires', :retires::jsonb) ELSE s.detail - ${UNSAID} END
     FROM ours o WHERE s.id = o.id AND s.lease = :lease AND NOT o.is_dropped RETURNING o.*
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, CASE WHEN of_change THEN 'plan_changed' WHEN kind = 'rotate' THEN 'rotated' ELSE 'config_ready' END,
         CASE WHEN kind = 'rotate' THEN '{}' ELSE jsonb_build_object('plan', plan) END
       FROM next WHERE :is = 'done'
     UNION ALL SELECT uuid, 'provision_failed', '{}' FROM next WHERE :is = 'refused'
     UNION ALL SELECT uuid, CASE WHEN of_change THEN 'plan_change_refused' ELSE 'rotation_refused' END, '{}' FROM dropped
   ), made AS (
     UPDATE resources r SET sealed_config = :config::bytea, plan = n.plan, updated_at = now(),
       rotated_at = CASE WHEN n.kind = 'rotate' THEN now() ELSE r.rotated_at END
     FROM next n WHERE r.uuid = n.uuid AND :is = 'done'
   )
   SELECT detail ? 'isAccepted' AS "isAccepted" FROM next UNION ALL SELECT detail ? 'isAccepted' FROM dropped`,
);

/**
 * Stores a result whose caller was answered already, and what happens next. `isAccepted`: the answer was yes, or
 * "later"; `result`: with the config vars as they are stored. Null: the step is not ours any more, or its end is stored
 * already.
 */
export async function settleStep(
  { db, vault }: { db: Queryable; vault: Vault },
  step: Step,
  result: Result,
): Promise<{ isAccepted: boolean; result: Result } | null> {
  let { resource } = step;
  const config = result.is === "done" ? result.config : null;
  const before = config && openConfig(vault, resource);
  const retires = result.is === "done" ? JSON.stringify(result.retires ?? null) : null;
  for (;;) {
    const { uuid, sealedConfig: seen } = resource;
    // A var that was set while the function ran stays, unless the function changed it too.
    const vars = before && mergedSet(before, openConfig(vault, resource), config);
    const sealed = vars && sealConfig(vault, uuid, vars);
    const { key, lease } = step;
    const ended = await oneRow(db, settle, {
      uuid,
      key,
      lease,
      is: result.is,
      seen,
      config: sealed,
      retires,
    });
    if (ended && result.is === "done") return { ...ended, result: { ...result, config: wantedOf(vars!) } };
    if (ended || !vars) return ended ? { ...ended, result } : null;
    const now = await findResource(db, uuid);
    // The config vars have not changed since they were read, so the step is not ours any more.
    if (!now || isDeepStrictEqual(now.sealedConfig, seen)) return null;
    resource = now;
  }
}

const announced = statement<Claim & { overlapMinutes: number }, { uuid: string }>("settle_announced").sql(
  `WITH ended AS (
     DELETE FROM steps s WHERE ${IS_OURS} AND NOT s.detail ? 'retires'
     RETURNING s.uuid, s.kind = 'announce' AND ${whereOfPlanChange("s")} AS of_change
   ), retiring AS (
     -- From now on the app has the new credentials, so the old ones are retired when the overlap is over.
     UPDATE steps s SET kind = 'retire', due_at = now() + make_interval(secs => :overlapMinutes::float8 * 60),
       attempts = 0, leased_until = NULL, last_error = NULL
     WHERE ${IS_OURS} AND ${whereAnnouncing("s")} RETURNING s.uuid
   ), turned AS (
     -- The announcement of a plan change says nothing of the provision before it, which has its own.
     UPDATE resources r SET state = 'provisioned', updated_at = now() FROM ended
     WHERE r.uuid = ended.uuid AND ${whereCan("announced")} AND NOT ended.of_change RETURNING r.uuid
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'provisioned' FROM turned
     UNION ALL SELECT uuid, 'rotation_announced' FROM retiring
   )
   SELECT uuid FROM ended UNION ALL SELECT uuid FROM retiring`,
);

/** The platform was told everything: the step ends, and the resource is provisioned. False: the step is not ours. */
export function settleAnnounced(
  db: Queryable,
  { uuid, key, lease }: Claim,
  overlapMinutes = USUAL_OVERLAP_MINUTES,
): Promise<boolean> {
  return anyRow(db, announced, { uuid, key, lease, overlapMinutes });
}

type Look = {
  uuid: string;
  /** The claim of a discovery, which ends with it; null: there is none. */
  key: string | null;
  lease: number | null;
  appId: string;
  appName: string;
  attached: number;
};
const look = statement<Look>("store_look").sql(
  `WITH ended AS (
     DELETE FROM steps s WHERE ${IS_OURS}
   ), seen AS (
     SELECT r.uuid, r.app_id IS NULL AS is_first, r.app_name AS was,
       (r.app_id, r.app_name) IS DISTINCT FROM (:appId::uuid, :appName::text) AS is_other,
       r.attached IS DISTINCT FROM :attached::int AS is_attached_otherwise, r.attached AS attached_before
     -- Locked, so that of two looks one sees what the other wrote.
     FROM resources r WHERE r.uuid = :uuid AND r.state <> 'deprovisioned' FOR UPDATE
   ), kept AS (
     UPDATE resources r SET app_id = :appId, app_name = :appName, attached = :attached, updated_at = now()
     FROM seen WHERE r.uuid = seen.uuid AND (is_other OR is_attached_otherwise)
   )
   -- What differs from the last look is an event.
   INSERT INTO events (uuid, type, detail)
   SELECT uuid, CASE WHEN is_first THEN 'apps_found' ELSE 'apps_changed' END,
     jsonb_strip_nulls(jsonb_build_object('app', CASE WHEN is_other AND NOT is_first THEN :appName END,
       'was', CASE WHEN is_other THEN was END, 'attached', CASE WHEN is_attached_otherwise THEN :attached END))
   FROM seen WHERE is_other OR :attached <> attached_before`,
);

/** Stores on which app a resource is, and how often it is attached. `step`: that of a discovery, which ends with it. */
export async function storeLook(
  db: Queryable,
  { uuid, step, app, attached }: { uuid: string; step?: Claim | undefined; app: Named; attached: number },
): Promise<void> {
  const { key = null, lease = null } = step ?? {};
  await db.query(look, { uuid, key, lease, appId: app.id, appName: app.name, attached });
}

// Marks those it takes as looked at, so that no other process takes them, nor this one if it ends before it has looked.
const claimLooks = statement<Record<never, never>, { uuid: string; hasToken: boolean }>("claim_looks").sql(
  `UPDATE resources r SET
     looked_at = now() - CASE WHEN c.state = 'active' AND c.expires_at <= now()
       -- By then, in three hours, its token is refreshed.
       THEN interval '21 hours'
       -- At a time of the last two hours: those that were due in the same second are not due together each day.
       ELSE random() * interval '2 hours' END
   FROM credentials c
   WHERE c.uuid = r.uuid AND r.uuid = ANY(ARRAY(SELECT uuid FROM resources
     WHERE state = 'provisioned' AND app_id IS NOT NULL AND looked_at < now() - interval '1 day'
     ORDER BY looked_at LIMIT 4 FOR UPDATE SKIP LOCKED))
   RETURNING r.uuid, c.state = 'active' AND c.expires_at > now() AS "hasToken"`,
);

/** Takes a few resources. `hasToken`: the platform can be called without a refresh, which is for the sweep to send. */
export const takeLooks = (db: Queryable) => db.query(claimLooks);

const retired = statement<Claim>("settle_retired").sql(
  `WITH ended AS (DELETE FROM steps s WHERE ${IS_OURS} AND s.kind = 'retire' RETURNING s.uuid)
   INSERT INTO events (uuid, type) SELECT uuid, 'retired' FROM ended`,
);

export const settleRetired = (db: Queryable, step: Claim) => db.query(retired, step);
