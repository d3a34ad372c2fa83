import { isDeepStrictEqual } from "node:util";
import { anyRow, oneRow, type Queryable, statement } from "../database/statement.ts";
import type { Named } from "../platform/types.ts";
import type { Vault } from "../vault/vault.ts";
import { IS_CLAIMED, LATER_MEMBERS } from "../work/queue.ts";
import type { Claim } from "../work/step.ts";
import type { Result } from "./answers.ts";
import { mergedSet, openConfig, sealConfig, wantedOf } from "./config-vars.ts";
import { whereCan } from "./states.ts";
import {
  BEFORE_ROTATIONS,
  beforeAllIn,
  HAS_TOKENS,
  type Step,
  whereAnnouncing,
  whereOfPlanChange,
} from "./step-kinds.ts";
import { findResource } from "./store.ts";

// The statements that store the result of a step. Each ends the step and writes its results in one statement: the wanted
// config vars, the plan, and the next step, which has no due time while it waits for tokens. Each compares the step's
// lease number, so the result of a process that lost the step, or of a deprovisioned resource, is dropped. Most compare
// the kind too: an earlier attempt may have been committed without an acknowledgement.

/** How long replaced credentials stay valid beside the new ones, unless your service sets `overlapMinutes`. */
const USUAL_OVERLAP_MINUTES = 120;

const CREDENTIAL = `(SELECT c.state FROM credentials c WHERE c.uuid = s.uuid)`;

// Stores a vendor's result that is not the answer to a provision:
//
//   steps ─┬─ refused plan change or rotation ─▶ deleted; the resource is not changed
//          └─ else its kind becomes: done ─▶ announce (a rotation keeps its kind, and notes what it replaced)
//                                    later ─▶ finish
//                                    refused ─▶ report_failure
//   resources ─ done ─▶ the config vars and the plan; a suspended one gets a step that suspends it again
//   events    ─ what happened
//
// The resource is locked first, so that a statement that ends the resource and this one cannot both end the step.
type Settle = Claim & {
  is: Result["is"];
  /** `seen`: the sealed config vars as they were read. `config`: the ones to store. */
  seen: Uint8Array | null;
  config: Uint8Array | null;
  /** JSON that names the credentials that a rotation replaced. */
  retires: string | null;
};
const settle = statement<Settle, { isAccepted: boolean }>("settle_steps").sql(
  `WITH ours AS (
     SELECT s.id, s.uuid, s.kind, s.detail, ${whereOfPlanChange("s")} AS of_change,
       :is::text = 'refused' AND (${whereOfPlanChange("s")} OR s.kind = 'rotate') AS is_dropped,
       coalesce(s.detail->>'plan', r.plan) AS plan
     FROM steps s JOIN resources r ON r.uuid = s.uuid
     WHERE ${IS_CLAIMED} AND s.kind IN ('provision', 'finish', 'change_plan', 'rotate') AND ${whereCan("change_plan")}
       -- If the config vars were changed since they were read, no row matches, and the caller reads them again.
       AND (:is::text <> 'done' OR r.sealed_config IS NOT DISTINCT FROM :seen::bytea)
     FOR UPDATE OF r
   ), dropped AS (
     DELETE FROM steps s USING ours o WHERE s.id = o.id AND s.lease = :lease AND o.is_dropped
     RETURNING o.uuid, o.kind, o.of_change, s.detail
   ), next AS (
     UPDATE steps s SET attempts = 0, leased_until = NULL, last_error = NULL,
       -- A rotation keeps its kind, so a raised lease number marks that its result is stored.
       lease = s.lease + (o.kind = 'rotate')::int,
       kind = CASE WHEN o.kind = 'rotate' THEN s.kind WHEN :is = 'done' THEN 'announce'
         WHEN :is = 'later' THEN 'finish' ELSE 'report_failure' END,
       -- An announcement is due once there are tokens. Other steps are due now, unless a pending grant may still bring tokens.
       due_at = CASE WHEN :is = 'done' AND ${CREDENTIAL} IN (${HAS_TOKENS})
         OR :is <> 'done' AND ${CREDENTIAL} IS DISTINCT FROM 'grant_pending'
         -- An app gets its new credentials before the rotation of the next resource starts.
         THEN CASE WHEN o.kind = 'rotate' THEN ${BEFORE_ROTATIONS} ELSE now() END END,
       detail = CASE WHEN :is = 'later' AND o.of_change THEN s.detail || '{"isAccepted": true}'
         WHEN o.kind = 'rotate' THEN jsonb_build_object('retires', :retires::jsonb) ELSE s.detail - ${LATER_MEMBERS} END
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
     FROM next n WHERE r.uuid = n.uuid AND :is = 'done' RETURNING r.uuid, r.suspended_at
   ), again AS (
     -- A change of a suspended resource may have made it work again, so it is suspended once more.
     INSERT INTO steps (uuid, kind, detail, due_at)
     SELECT uuid, 'suspend', '{"isAgain": true}', ${beforeAllIn("suspension")} FROM made WHERE suspended_at IS NOT NULL
   )
   SELECT detail ? 'isAccepted' AS "isAccepted" FROM next UNION ALL SELECT detail ? 'isAccepted' FROM dropped`,
);

/**
 * Stores a result that is not the answer to a provision, and turns the step into the next one. `isAccepted`: the platform
 * was answered "done" or "later". `result`: with the config vars as they are stored. Returns `null` if another process has
 * taken the step or its result is stored already.
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
    // A var that was set while the function ran is kept, unless the function changed it too.
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
    // The config vars are unchanged, so the statement matched no row because the step was taken or has ended.
    if (!now || isDeepStrictEqual(now.sealedConfig, seen)) return null;
    resource = now;
  }
}

const announced = statement<Claim & { overlapMinutes: number }, { uuid: string }>("settle_announced").sql(
  `WITH ended AS (
     DELETE FROM steps s WHERE ${IS_CLAIMED} AND NOT s.detail ? 'retires'
     RETURNING s.uuid, s.kind = 'announce' AND ${whereOfPlanChange("s")} AS of_change
   ), retiring AS (
     -- The app has the new credentials from now on. The old ones are retired when the overlap is over.
     UPDATE steps s SET kind = 'retire', due_at = now() + make_interval(secs => :overlapMinutes::float8 * 60),
       attempts = 0, leased_until = NULL, last_error = NULL
     WHERE ${IS_CLAIMED} AND ${whereAnnouncing("s")} RETURNING s.uuid
   ), turned AS (
     -- The announcement of a plan change does not complete a provision before it, which has its own announcement.
     UPDATE resources r SET state = 'provisioned', updated_at = now() FROM ended
     WHERE r.uuid = ended.uuid AND ${whereCan("announced")} AND NOT ended.of_change RETURNING r.uuid
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'provisioned' FROM turned
     UNION ALL SELECT uuid, 'rotation_announced' FROM retiring
   )
   SELECT uuid FROM ended UNION ALL SELECT uuid FROM retiring`,
);

/** Ends an announcement and marks the resource provisioned. Returns `false` if another process has taken the step. */
export function settleAnnounced(
  db: Queryable,
  { uuid, key, lease }: Claim,
  overlapMinutes = USUAL_OVERLAP_MINUTES,
): Promise<boolean> {
  return anyRow(db, announced, { uuid, key, lease, overlapMinutes });
}

type Look = {
  uuid: string;
  /** The claim of the discovery step to end; `null` without a step. */
  key: string | null;
  lease: number | null;
  appId: string;
  appName: string;
  attached: number;
  attachedAs: string | null;
};
const storeLookOf = statement<Look>("store_look").sql(
  `WITH ended AS (
     DELETE FROM steps s WHERE ${IS_CLAIMED}
   ), seen AS (
     SELECT r.uuid, r.app_id IS NULL AS is_first, r.app_name AS was,
       (r.app_id, r.app_name) IS DISTINCT FROM (:appId::uuid, :appName::text) AS is_other,
       r.attached IS DISTINCT FROM :attached::int AS is_attached_otherwise, r.attached AS attached_before,
       r.attached_as IS DISTINCT FROM :attachedAs::text AS is_named_otherwise
     -- Locked, so that the second of two concurrent calls sees the row of the first.
     FROM resources r WHERE r.uuid = :uuid AND r.state <> 'deprovisioned' FOR UPDATE
   ), kept AS (
     UPDATE resources r SET app_id = :appId, app_name = :appName, attached = :attached, attached_as = :attachedAs, updated_at = now()
     FROM seen WHERE r.uuid = seen.uuid AND (is_other OR is_attached_otherwise OR is_named_otherwise)
   )
   -- A difference from the stored values is recorded as an event.
   INSERT INTO events (uuid, type, detail)
   SELECT uuid, CASE WHEN is_first THEN 'apps_found' ELSE 'apps_changed' END,
     jsonb_strip_nulls(jsonb_build_object('app', CASE WHEN is_other AND NOT is_first THEN :appName END,
       'was', CASE WHEN is_other THEN was END, 'attached', CASE WHEN is_attached_otherwise THEN :attached END,
       'as', CASE WHEN is_named_otherwise THEN :attachedAs END))
   FROM seen WHERE is_other OR :attached <> attached_before OR is_named_otherwise`,
);

/** Stores which app a resource is on, the number of its attachments, and their name there. `step`: the discovery step to end, if any. */
export async function storeLook(
  db: Queryable,
  {
    uuid,
    step,
    app,
    ...look
  }: Pick<Look, "uuid" | "attached" | "attachedAs"> & { step?: Claim | undefined; app: Named },
): Promise<void> {
  const { key = null, lease = null } = step ?? {};
  await db.query(storeLookOf, { uuid, key, lease, appId: app.id, appName: app.name, ...look });
}

const attachedAs = statement<{ uuid: string }, { attachedAs: string | null }>("find_attached_as").sql(
  `SELECT attached_as AS "attachedAs" FROM resources WHERE uuid = :uuid`,
);

/** The name that begins the config vars of the resource's app; null: they have their declared names. */
export const findAttachedAs = async (db: Queryable, uuid: string): Promise<string | null> =>
  (await oneRow(db, attachedAs, { uuid }))?.attachedAs ?? null;

// Sets looked_at before the calls, so that no other process takes the same resources. A process that dies before its calls
// has skipped them for a day.
const claimLooks = statement<Record<never, never>, { uuid: string; hasToken: boolean }>("claim_looks").sql(
  `UPDATE resources r SET
     looked_at = now() - CASE WHEN c.state = 'active' AND c.expires_at <= now()
       -- An expired token is refreshed within three hours, so the resource is taken again in three hours.
       THEN interval '21 hours'
       -- Random, so that resources that were due in the same second are not due together every day.
       ELSE random() * interval '2 hours' END
   FROM credentials c
   WHERE c.uuid = r.uuid AND r.uuid = ANY(ARRAY(SELECT uuid FROM resources
     WHERE state = 'provisioned' AND app_id IS NOT NULL AND looked_at < now() - interval '1 day'
     ORDER BY looked_at LIMIT 4 FOR UPDATE SKIP LOCKED))
   RETURNING r.uuid, c.state = 'active' AND c.expires_at > now() AS "hasToken"`,
);

/**
 * Takes up to four resources whose apps are to be read. `hasToken`: the access token is valid. The caller skips the
 * others, because refreshing tokens is the work of the refresh job.
 */
export const takeLooks = (db: Queryable) => db.query(claimLooks);

const retired = statement<Claim>("settle_retired").sql(
  `WITH ended AS (DELETE FROM steps s WHERE ${IS_CLAIMED} AND s.kind = 'retire' RETURNING s.uuid)
   INSERT INTO events (uuid, type) SELECT uuid, 'retired' FROM ended`,
);

export const settleRetired = (db: Queryable, step: Claim) => db.query(retired, step);
