import { statement, type Queryable } from "../database/database.ts";
import { FIRST_UUID } from "../uuid.ts";

const signOns = statement("prune_sign_ons", `DELETE FROM used_sign_ons WHERE expires_at <= now()`);
const sessions = statement(
  "prune_customer_sessions",
  `DELETE FROM customer_sessions WHERE expires_at <= now()`,
);
const LOOKED_AT = 5_000;
// From the sessions, which are few, to their resources, one by one: as a join, all resources would be read for them. That
// such a session is good for nothing its own look-up sees to, so each time looks at a part, in their order.
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

/** Forgets forms that are too old to come again, sessions that ran out, and customers of resources that are gone. */
export function createPruneCustomers(db: Queryable): () => Promise<void> {
  let lookedUpTo = FIRST_UUID;
  return async () => {
    for (const each of [signOns, sessions]) await db.query(each);
    const [part] = await db.query<{ looked: number; last: string | null }>(orphans, [lookedUpTo]);
    lookedUpTo = part?.last && part.looked === LOOKED_AT ? part.last : FIRST_UUID;
  };
}
