import { statement, type Queryable } from "../../database/database.ts";
import { createFencedCommit, type Fence } from "./fence.ts";

/** What a discovery found. */
interface Discovered extends Fence {
  app: { id: string; name: string };
  attached: number;
}

// Every resource is discovered once, right after its first tokens, and many of them at the same time: the app, the
// event and the step's end are written together, for all that are ready at the same moment. Fenced by the step's lease.
const store = statement(
  "store_discovered",
  `WITH incoming AS (
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::uuid[], $4::text[], $5::int[])
       AS i(id, lease, app_id, app_name, attached)
   ), ended AS (
     DELETE FROM steps s USING incoming i WHERE s.id = i.id AND s.lease = i.lease
     RETURNING s.id, s.lease, s.uuid, i.app_id, i.app_name, i.attached
   ), kept AS (
     UPDATE resources r SET app_id = e.app_id, app_name = e.app_name, updated_at = now()
     FROM ended e WHERE r.uuid = e.uuid AND r.state <> 'deprovisioned'
   ), told AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, 'apps_found', jsonb_build_object('attached', attached) FROM ended
   )
   SELECT id, lease FROM ended`,
);

/** Stores what a discovery found and ends its step. False: the step was not ours any more, and nothing was stored. */
export function createDiscovered(db: Queryable) {
  return createFencedCommit<Discovered>(db, store, (rows) => [
    rows.map(({ app }) => app.id),
    rows.map(({ app }) => app.name),
    rows.map(({ attached }) => attached),
  ]);
}
