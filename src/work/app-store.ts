import type { Context } from "../context.ts";
import { groupCommit, statement, type Queryable } from "../database/database.ts";
import type { Step } from "./step.ts";

// What the platform says of the apps of a resource: at its discovery, and whenever it is looked at again.

// Every resource is discovered once, right after its first tokens; those that end together are written together.
const discovered = statement(
  "store_discovered",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[], $5::text[], $6::int[])
       AS i(uuid, key, lease, app_id, app_name, attached)
   ), ended AS (
     DELETE FROM steps s USING incoming i WHERE s.uuid = i.uuid AND s.key = i.key AND s.lease = i.lease RETURNING i.*
   ), kept AS (
     UPDATE resources r SET app_id = e.app_id, app_name = e.app_name, attached = e.attached, looked_at = now(), updated_at = now()
     FROM ended e WHERE r.uuid = e.uuid AND r.state <> 'deprovisioned'
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, 'apps_found', jsonb_build_object('attached', attached) FROM ended
   )
   SELECT key, lease FROM ended`,
);

interface Found {
  app: { id: string; name: string };
  attached: number;
}

const endDiscovery = groupCommit<Context, { step: Step } & Found, boolean>({
  async write({ db }, rows) {
    // In the order of their resources, in which PostgreSQL locks them: so two batches wait for each other in turn.
    const ordered = rows.toSorted((one, other) =>
      one.step.resource.uuid < other.step.resource.uuid ? -1 : 1,
    );
    const ended = await db.query<{ key: string; lease: number }>(discovered, [
      ordered.map(({ step }) => step.resource.uuid),
      ordered.map(({ step }) => step.key),
      ordered.map(({ step }) => step.lease),
      ordered.map(({ app }) => app.id),
      ordered.map(({ app }) => app.name),
      ordered.map(({ attached }) => attached),
    ]);
    return rows.map(({ step: { key, lease } }) =>
      ended.some((one) => one.key === key && one.lease === lease),
    );
  },
});

/** Ends a discovery with what it found. False: as for `settleStep`. */
export async function settleDiscovered(ctx: Context, step: Step, found: Found): Promise<boolean> {
  return endDiscovery(ctx, { step, ...found });
}

// What differs from the last look is an event. The resource is locked, so that of two looks one sees what the other wrote.
const storeLook = statement(
  "store_look",
  `WITH seen AS (
     SELECT uuid, app_id, app_name, attached, (app_id, app_name) IS DISTINCT FROM ($2::uuid, $3::text) AS is_other
     FROM resources WHERE uuid = $1 AND state <> 'deprovisioned' FOR UPDATE
   ), kept AS (
     UPDATE resources r SET app_id = $2, app_name = $3, attached = $4, looked_at = now(),
       updated_at = CASE WHEN is_other THEN now() ELSE updated_at END
     FROM seen WHERE r.uuid = seen.uuid
       AND (is_other OR seen.attached IS DISTINCT FROM $4::int OR r.looked_at < now() - interval '3 hours')
   )
   INSERT INTO events (uuid, type, detail)
   SELECT uuid, 'apps_changed', jsonb_strip_nulls(jsonb_build_object('app', CASE WHEN is_other THEN $3 END,
     'was', CASE WHEN is_other THEN app_name END, 'attached', CASE WHEN attached <> $4 THEN $4 END))
   FROM seen WHERE (is_other AND app_id IS NOT NULL) OR attached <> $4`,
);

/** Stores the primary app of a resource, and to how many it is attached, as the platform has just said. */
export async function storeLookAt(db: Queryable, uuid: string, { app, attached }: Found): Promise<void> {
  await db.query(storeLook, [uuid, app.id, app.name, attached]);
}

/** At once in one process, so that they are no burden to the platform. */
const LOOKS_AT_ONCE = 4;
// Marks those it takes as looked at, so that no other process takes them, nor this one if it ends before it has looked. At
// a time of the last two hours, so that those that were due in the same second are not so each day. One whose pair has
// expired is due again in an hour: asking for it would send a refresh, which is for the sweep to send.
const claimLooks = statement(
  "claim_looks",
  `UPDATE resources r SET looked_at = CASE WHEN c.state = 'active' AND c.expires_at <= now() THEN now() - interval '23 hours'
     ELSE now() - random() * interval '2 hours' END FROM credentials c
   WHERE c.uuid = r.uuid AND r.uuid = ANY(ARRAY(SELECT uuid FROM resources
     WHERE state = 'provisioned' AND app_id IS NOT NULL AND looked_at < now() - interval '1 day'
     ORDER BY looked_at LIMIT ${LOOKS_AT_ONCE} FOR UPDATE SKIP LOCKED))
   RETURNING r.uuid, c.state = 'active' AND c.expires_at > now() AS "hasToken"`,
);
const lookSooner = statement(
  "look_sooner",
  `UPDATE resources SET looked_at = now() - interval '23 hours' WHERE uuid = $1`,
);

/** Takes a few resources whose last look is longest ago, and more than a day. `hasToken`: the platform can be asked. */
export const takeLooks = (db: Queryable) => db.query<{ uuid: string; hasToken: boolean }>(claimLooks);
/** Has a look that failed made in an hour. */
export const putOffLook = (db: Queryable, uuid: string) => db.query(lookSooner, [uuid]);
