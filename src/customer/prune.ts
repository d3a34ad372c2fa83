import { statement, type Queryable } from "../database/database.ts";

const signOns = statement("prune_sign_ons", `DELETE FROM used_sign_ons WHERE expires_at <= now()`);
const sessions = statement(
  "prune_customer_sessions",
  `DELETE FROM customer_sessions s WHERE expires_at <= now()
     OR EXISTS (SELECT 1 FROM resources r WHERE r.uuid = s.uuid AND r.state IN ('failed', 'deprovisioned'))`,
);

/** Forgets forms that are too old to come again, sessions that ran out, and customers of resources that are gone. */
export function createPruneCustomers(db: Queryable): () => Promise<void> {
  return async () => {
    for (const each of [signOns, sessions]) await db.query(each);
  };
}
