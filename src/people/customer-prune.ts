import { statement, type Queryable } from "../database/database.ts";
import { FIRST_UUID } from "../uuid.ts";
import { IS_IN_USE } from "./idle.ts";

const signOns = statement("prune_sign_ons", `DELETE FROM used_sign_ons WHERE expires_at <= now()`);
const sessions = statement(
  "prune_customer_sessions",
  `DELETE FROM customer_sessions WHERE expires_at <= now() OR NOT (${IS_IN_USE})`,
);
const LOOKED_AT = 5_000;
// Reads the resource of each session one by one, since sessions are few: a join would read all resources. The look-up
// of a session ignores orphaned ones anyway, so each run examines only the next part of them, in the order of their
// uuid.
const orphans = statement(
  "prune_orphaned_customer_sessions",
  `WITH part AS MATERIALIZED (
     SELECT s.uuid, (SELECT r.state FROM resources r WHERE r.uuid = s.uuid) AS state
     FROM customer_sessions s WHERE s.uuid > $1 ORDER BY s.uuid LIMIT ${LOOKED_AT}
   ), gone AS (
     DELETE FROM customer_sessions WHERE uuid = ANY(ARRAY(
       SELECT uuid FROM part WHERE state IN ('failed', 'deprovisioned')))
   )
   SELECT count(*)::int AS looked, (SELECT uuid FROM part ORDER BY uuid DESC LIMIT 1) AS last FROM part`,
);

/**
 * Deletes what was used and is too old to be sent again, sessions that are over, and sessions of resources that are
 * gone.
 */
export function createPruneCustomers(db: Queryable): () => Promise<void> {
  let lookedUpTo = FIRST_UUID;
  return async () => {
    for (const each of [signOns, sessions]) await db.query(each);
    const [part] = await db.query<{ looked: number; last: string | null }>(orphans, [lookedUpTo]);
    lookedUpTo = part?.last && part.looked === LOOKED_AT ? part.last : FIRST_UUID;
  };
}
