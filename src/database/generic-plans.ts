import type pg from "pg";

/** After this long the tables may have outgrown a plan: one that scans a small table is wrong for a large one. */
const PLAN_AGE_MS = 1_000;

const START_GENERIC_PLANS = "SET plan_cache_mode = force_generic_plan; DISCARD PLANS";

/**
 * Makes PostgreSQL use generic plans on a connection, each for a second: call the returned function before each
 * statement. Planning a batch's statement anew costs PostgreSQL half as much as running it, and planning a lookup by key
 * five times as much. Keeping a plan for good, as PostgreSQL can, costs far more once the tables have grown.
 */
export function createGenericPlans(): (client: pg.PoolClient) => Promise<void> {
  const startedAtMs = new WeakMap<pg.PoolClient, number>();
  return async (client) => {
    const startedMs = startedAtMs.get(client);
    if (startedMs !== undefined && performance.now() - startedMs < PLAN_AGE_MS) return;
    await client.query(START_GENERIC_PLANS);
    startedAtMs.set(client, performance.now());
  };
}
