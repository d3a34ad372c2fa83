import type pg from "pg";

/** After this long the tables may have outgrown a plan: one that scans a small table is wrong for a large one. */
const PLAN_AGE_MS = 1_000;

const KEEP_PLANS_FROM_NOW = "SET plan_cache_mode = force_generic_plan; DISCARD PLANS";

/**
 * Makes connections keep the plans of their statements for a second: call the returned function before each statement.
 * Planning a batch's statement anew costs PostgreSQL half as much as running it, and planning a lookup by key five
 * times as much. Keeping the plan for good, as PostgreSQL can, costs far more once the tables have grown.
 */
export function createPlanKeeper(): (client: pg.PoolClient) => Promise<void> {
  const keptSince = new WeakMap<pg.PoolClient, number>();
  return async (client) => {
    const since = keptSince.get(client);
    if (since !== undefined && performance.now() - since < PLAN_AGE_MS) return;
    await client.query(KEEP_PLANS_FROM_NOW);
    keptSince.set(client, performance.now());
  };
}
