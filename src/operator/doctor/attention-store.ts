import type { Database } from "../../database/database.ts";
import { type Queryable, statement } from "../../database/statement.ts";
import { NEEDING_ATTENTION } from "../../metrics/store.ts";
import type { Options } from "../../options.ts";

/** Customers whose credential is in a state that needs a person; `since`: that of the longest of `some`, which are five. */
export interface InAttention {
  state: string;
  reason: string;
  count: number;
  some: string[];
  since: Date | null;
}

// The same credentials as in the metric `addon_credentials_needing_attention`. An event tells when the state began; a
// provision that came without a grant has been so from its beginning.
const attention = statement<object, InAttention>("attention_by_state").sql(
  `SELECT found.*, (SELECT min(coalesce(
       (SELECT max(e.at) FROM events e WHERE e.uuid = named.uuid::uuid AND e.type = found.state),
       (SELECT r.created_at FROM resources r WHERE r.uuid = named.uuid::uuid))) FROM unnest(found.some) AS named(uuid)) AS since
   FROM (SELECT state, coalesce(reason, '') AS reason, count(*)::int AS count,
       (array_agg(uuid::text ORDER BY uuid))[1:5] AS some FROM ${NEEDING_ATTENTION} c GROUP BY 1, 2) found
   ORDER BY state, reason`,
);

export const credentialsInAttention = (db: Queryable) => db.query(attention);

interface OfPlan {
  plan: string;
  count: number;
  some: string[];
}

const others = statement<{ offered: readonly string[]; most: number }, OfPlan>(
  "customers_of_other_plans",
).sql(
  `SELECT plan, count(*)::int AS count, (array_agg(uuid::text ORDER BY created_at DESC))[1:5] AS some FROM resources
   WHERE state IN ('provisioning', 'provisioned') AND plan <> ALL(:offered::text[]) GROUP BY plan ORDER BY plan LIMIT :most`,
);

/** Options that customers chose when installing, and five of those who chose them. */
export interface Chosen {
  options: Options;
  count: number;
  some: string[];
}

const chosen = statement<{ most: number }, Chosen>("options_of_customers").sql(
  `SELECT options, count(*)::int AS count, (array_agg(uuid::text ORDER BY created_at DESC))[1:5] AS some FROM resources
   WHERE state IN ('provisioning', 'provisioned') GROUP BY options ORDER BY count(*) DESC, min(created_at) LIMIT :most`,
);

/** What customers chose, the most usual first. */
export const optionsOfCustomers = (db: Database, most: number) => db.readWhole(chosen, { most });

/** The plans that customers have and that are not among these, by name, and five of the customers of each. */
export const customersOfOtherPlans = (db: Database, offered: readonly string[], most: number) =>
  db.readWhole(others, { offered, most });
