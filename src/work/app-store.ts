import type { Context } from "../context.ts";
import { groupCommit, statement, type Queryable } from "../database/database.ts";
import type { Step } from "./step.ts";

// What the platform says of the apps of a resource: at its discovery, and whenever it is looked at again.

// What differs from the last look is an event. The resource is locked, so that of two looks one sees what the other wrote.
const look = statement(
  "store_look",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[], $5::text[], $6::int[])
       AS i(uuid, key, lease, app_id, app_name, attached)
   ), ended AS (
     DELETE FROM steps s USING incoming i WHERE s.uuid = i.uuid AND s.key = i.key AND s.lease = i.lease
   ), seen AS (
     SELECT i.*, r.app_id IS NULL AS is_first, r.app_name AS was, r.attached AS attached_before,
       (r.app_id, r.app_name) IS DISTINCT FROM (i.app_id, i.app_name) AS is_other
     FROM resources r JOIN incoming i USING (uuid) WHERE r.state <> 'deprovisioned' FOR UPDATE OF r
   ), kept AS (
     UPDATE resources r SET app_id = s.app_id, app_name = s.app_name, attached = s.attached, looked_at = now(),
       updated_at = CASE WHEN is_other THEN now() ELSE updated_at END
     FROM seen s WHERE r.uuid = s.uuid
       AND (is_other OR s.attached IS DISTINCT FROM attached_before OR r.looked_at < now() - interval '3 hours')
   )
   INSERT INTO events (uuid, type, detail)
   SELECT uuid, CASE WHEN is_first THEN 'apps_found' ELSE 'apps_changed' END,
     jsonb_strip_nulls(jsonb_build_object('app', CASE WHEN is_other AND NOT is_first THEN app_name END,
       'was', CASE WHEN is_other THEN was END,
       'attached', CASE WHEN attached IS DISTINCT FROM attached_before THEN attached END))
   FROM seen WHERE is_other OR attached <> attached_before`,
);

interface Look {
  uuid: string;
  /** What ends with it: the step of a discovery. */
  step?: Step | undefined;
  app: { id: string; name: string };
  attached: number;
}

/**
 * Stores the primary app of a resource, and to how many it is attached, as the platform has just said. Every resource is
 * discovered right after its first tokens; those that end together are written together.
 */
export const storeLook = groupCommit<Pick<Context, "db">, Look, void>({
  async write({ db }, looks) {
    // In the order of their resources, in which PostgreSQL locks them: so two batches wait for each other in turn.
    const ordered = looks.toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1));
    await db.query(look, [
      ordered.map(({ uuid }) => uuid),
      ordered.map(({ step }) => step?.key),
      ordered.map(({ step }) => step?.lease),
      ordered.map(({ app }) => app.id),
      ordered.map(({ app }) => app.name),
      ordered.map(({ attached }) => attached),
    ]);
    return looks.map(() => undefined);
  },
});

/** At once in one process, so that they are no burden to the platform. */
const LOOKS_AT_ONCE = 4;
// Marks those it takes as looked at, so that no other process takes them, nor this one if it ends before it has looked. At
// a time of the last two hours, so that those that were due in the same second are not so each day.
const claimLooks = statement(
  "claim_looks",
  `UPDATE resources r SET looked_at = now() - random() * interval '2 hours' FROM credentials c
   WHERE c.uuid = r.uuid AND r.uuid = ANY(ARRAY(SELECT uuid FROM resources
     WHERE state = 'provisioned' AND app_id IS NOT NULL AND looked_at < now() - interval '1 day'
     ORDER BY looked_at LIMIT ${LOOKS_AT_ONCE} FOR UPDATE SKIP LOCKED))
   RETURNING r.uuid, c.state = 'active' AND c.expires_at > now() AS "hasToken"`,
);

/**
 * Takes a few resources whose last look is longest ago, and more than a day. `hasToken`: the platform can be asked; where a
 * pair has expired, asking would send a refresh, which is for the sweep to send.
 */
export const takeLooks = (db: Queryable) => db.query<{ uuid: string; hasToken: boolean }>(claimLooks);
