import type pg from "pg";

/** By then the tables may have grown out of a plan: one that reads all of a small table is wrong for a large one. */
const PLAN_AGE_MS = 1_000;

const KEEP_PLANS_FROM_NOW = "SET plan_cache_mode = force_generic_plan; DISCARD PLANS";

/**
 * Has connections keep the plans of their statements, each for a second: call it before a statement. To plan a batch's
 * statement anew costs PostgreSQL half as much as to carry it out, and a look by a key five times as much; to keep the
 * plan for good, as PostgreSQL offers, costs far more once the tables have grown.
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
