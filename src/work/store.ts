import { isDeepStrictEqual } from "node:util";
import { statement, type Queryable } from "../database/database.ts";
import type { Named } from "../platform/types.ts";
import type { Result } from "../resources/answers.ts";
import { mergedSet, openConfig, sealConfig, wantedOf } from "../resources/config-vars.ts";
import { whereCan } from "../resources/states.ts";
import { findResource } from "../resources/store.ts";
import type { Vault } from "../vault/vault.ts";
import { BEFORE_ROTATIONS, claimOf, IS_OURS, HAS_TOKENS, UNSAID } from "./queue.ts";
import { whereAnnouncing, whereOfPlanChange, type Step } from "./step.ts";

// What a step leaves behind, written together with its end: the config vars wanted, the plan, and the next step, without
// a due time while it needs tokens. Every statement is fenced by the step's lease, so the work of a process that was
// overtaken, or of a deprovisioned resource, is dropped; and by its kind: a try whose acknowledgement was lost may have
// taken effect.

/** How long replaced credentials work beside the new ones, unless your service says otherwise. */
const USUAL_OVERLAP_MINUTES = 120;

const CREDENTIAL = `(SELECT c.state FROM credentials c WHERE c.uuid = s.uuid)`;

// The vendor's result ($4) of work whose caller was answered already. Done: the config vars ($6) are to be announced,
// unless an operator has set one since they were read ($5). Later: `finish` goes on with it, once a pending grant has
// its tokens. Refused: a plan change or a rotation is dropped, and the resource stays as it is; of a provision the
// platform must be told. What a rotation replaced ($7) stays in its step, which keeps its kind, so its lease number says
// that this is done; the app has its new credentials before others are made for the next resource. The resource is locked first, so that otherwise its step does not end.
const settle = statement(
  "settle_steps",
  `WITH ours AS (
     SELECT s.id, s.uuid, s.kind, s.detail, ${whereOfPlanChange("s")} AS of_change,
       $4::text = 'refused' AND (${whereOfPlanChange("s")} OR s.kind = 'rotate') AS is_dropped, coalesce(s.detail->>'plan', r.plan) AS plan
     FROM steps s JOIN resources r ON r.uuid = s.uuid
     WHERE ${IS_OURS} AND s.kind IN ('provision', 'finish', 'change_plan', 'rotate') AND ${whereCan("change_plan")}
       AND ($4::text <> 'done' OR r.sealed_config IS NOT DISTINCT FROM $5::bytea)
     FOR UPDATE OF r
   ), dropped AS (
     DELETE FROM steps s USING ours o WHERE s.id = o.id AND s.lease = $3 AND o.is_dropped RETURNING o.uuid, o.kind, o.of_change, s.detail
   ), next AS (
     UPDATE steps s SET attempts = 0, leased_until = NULL, last_error = NULL,
       lease = s.lease + (o.kind = 'rotate')::int,
       kind = CASE WHEN o.kind = 'rotate' THEN s.kind WHEN $4 = 'done' THEN 'announce'
         WHEN $4 = 'later' THEN 'finish' ELSE 'report_failure' END,
       due_at = CASE WHEN $4 = 'done' AND ${CREDENTIAL} IN (${HAS_TOKENS})
         OR $4 <> 'done' AND ${CREDENTIAL} IS DISTINCT FROM 'grant_pending'
         THEN CASE WHEN o.kind = 'rotate' THEN ${BEFORE_ROTATIONS} ELSE now() END END,
       detail = CASE WHEN $4 = 'later' AND o.of_change THEN s.detail || '{"isAccepted": true}'
         WHEN o.kind = 'rotate' THEN jsonb_build_object('retires', $7::jsonb) ELSE s.detail - ${UNSAID} END
     FROM ours o WHERE s.id = o.id AND s.lease = $3 AND NOT o.is_dropped RETURNING o.*
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, CASE WHEN of_change THEN 'plan_changed' WHEN kind = 'rotate' THEN 'rotated' ELSE 'config_ready' END,
         CASE WHEN kind = 'rotate' THEN '{}' ELSE jsonb_build_object('plan', plan) END
       FROM next WHERE $4 = 'done'
     UNION ALL SELECT uuid, 'provision_failed', '{}' FROM next WHERE $4 = 'refused'
     UNION ALL SELECT uuid, CASE WHEN of_change THEN 'plan_change_refused' ELSE 'rotation_refused' END, '{}' FROM dropped
   ), made AS (
     UPDATE resources r SET sealed_config = $6::bytea, plan = n.plan, applied_plan = n.plan, updated_at = now(),
       rotated_at = CASE WHEN n.kind = 'rotate' THEN now() ELSE r.rotated_at END
     FROM next n WHERE r.uuid = n.uuid AND $4 = 'done'
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
    const values = [...claimOf(step), result.is, seen, vars && sealConfig(vault, uuid, vars), retires];
    const [ended] = await db.query<{ isAccepted: boolean }>(settle, values);
    if (ended && result.is === "done") return { ...ended, result: { ...result, config: wantedOf(vars!) } };
    if (ended || !vars) return ended ? { ...ended, result } : null;
    const now = await findResource(db, uuid);
    // The config vars have not changed since they were read, so the step is not ours any more.
    if (!now || isDeepStrictEqual(now.sealedConfig, seen)) return null;
    resource = now;
  }
}

// The announcement of a plan change says nothing of the provision before it, which has its own. That of a rotation
// turns into the step that retires the old credentials: from now on the app has the new ones.
const announced = statement(
  "settle_announced",
  `WITH ended AS (
     DELETE FROM steps s WHERE ${IS_OURS} AND NOT s.detail ? 'retires'
     RETURNING s.uuid, s.kind = 'announce' AND ${whereOfPlanChange("s")} AS of_change
   ), retiring AS (
     UPDATE steps s SET kind = 'retire', due_at = now() + make_interval(secs => $4::float8 * 60), attempts = 0,
       leased_until = NULL, last_error = NULL
     WHERE ${IS_OURS} AND ${whereAnnouncing("s")} RETURNING s.uuid
   ), turned AS (
     UPDATE resources r SET state = 'provisioned', updated_at = now() FROM ended
     WHERE r.uuid = ended.uuid AND ${whereCan("announced")} AND NOT ended.of_change RETURNING r.uuid
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'provisioned' FROM turned
     UNION ALL SELECT uuid, 'rotation_announced' FROM retiring
   )
   SELECT uuid FROM ended UNION ALL SELECT uuid FROM retiring`,
);

/** The platform was told everything: the step ends, and the resource is provisioned. False: the step is not ours. */
export async function settleAnnounced(
  db: Queryable,
  step: Step,
  overlapMinutes = USUAL_OVERLAP_MINUTES,
): Promise<boolean> {
  return (await db.query(announced, [...claimOf(step), overlapMinutes])).length > 0;
}

// What differs from the last look is an event. The resource is locked, so that of two looks one sees what the other
// wrote.
const look = statement(
  "store_look",
  `WITH ended AS (
     DELETE FROM steps s WHERE ${IS_OURS}
   ), seen AS (
     SELECT r.uuid, r.app_id IS NULL AS is_first, r.app_name AS was,
       (r.app_id, r.app_name) IS DISTINCT FROM ($4::uuid, $5::text) AS is_other,
       r.attached IS DISTINCT FROM $6::int AS is_attached_otherwise, r.attached AS attached_before
     FROM resources r WHERE r.uuid = $1 AND r.state <> 'deprovisioned' FOR UPDATE
   ), kept AS (
     UPDATE resources r SET app_id = $4, app_name = $5, attached = $6, updated_at = now()
     FROM seen WHERE r.uuid = seen.uuid AND (is_other OR is_attached_otherwise)
   )
   INSERT INTO events (uuid, type, detail)
   SELECT uuid, CASE WHEN is_first THEN 'apps_found' ELSE 'apps_changed' END,
     jsonb_strip_nulls(jsonb_build_object('app', CASE WHEN is_other AND NOT is_first THEN $5 END,
       'was', CASE WHEN is_other THEN was END, 'attached', CASE WHEN is_attached_otherwise THEN $6 END))
   FROM seen WHERE is_other OR $6 <> attached_before`,
);

/** Stores on which app a resource is, and how often it is attached. `step`: that of a discovery, which ends with it. */
export async function storeLook(
  db: Queryable,
  { uuid, step, app, attached }: { uuid: string; step?: Step | undefined; app: Named; attached: number },
): Promise<void> {
  const claim = step ? claimOf(step) : [uuid, null, null];
  await db.query(look, [...claim, app.id, app.name, attached]);
}

// Marks those it takes as looked at, so that no other process takes them, nor this one if it ends before it has looked.
// At a time of the last two hours, so that those that were due in the same second are not so each day. One whose token has
// expired is due again in three hours: by then, it is refreshed.
const claimLooks = statement(
  "claim_looks",
  `UPDATE resources r SET looked_at = now() - CASE WHEN c.state = 'active' AND c.expires_at <= now()
     THEN interval '21 hours' ELSE random() * interval '2 hours' END FROM credentials c
   WHERE c.uuid = r.uuid AND r.uuid = ANY(ARRAY(SELECT uuid FROM resources
     WHERE state = 'provisioned' AND app_id IS NOT NULL AND looked_at < now() - interval '1 day'
     ORDER BY looked_at LIMIT 4 FOR UPDATE SKIP LOCKED))
   RETURNING r.uuid, c.state = 'active' AND c.expires_at > now() AS "hasToken"`,
);

/** Takes a few resources. `hasToken`: the platform can be asked without a refresh, which is for the sweep to send. */
export const takeLooks = (db: Queryable) => db.query<{ uuid: string; hasToken: boolean }>(claimLooks);

const retired = statement(
  "settle_retired",
  `WITH ended AS (DELETE FROM steps s WHERE ${IS_OURS} AND s.kind = 'retire' RETURNING s.uuid)
   INSERT INTO events (uuid, type) SELECT uuid, 'retired' FROM ended`,
);

export const settleRetired = (db: Queryable, step: Step) => db.query(retired, claimOf(step));
