import type pg from "pg";
import { isOutOfConnections, isRefusedEntry, refusalInWords } from "./failure.ts";
import { createGenericPlans } from "./generic-plans.ts";
import type { DatabaseLog } from "./types.ts";

/**
 * A refusal this soon after another is part of the same outage, even if a connection succeeded in between: its login had
 * begun before.
 */
const SAME_OUTAGE_MS = 1_000;

/** One process's connections: those for statements with generic plans, and those for everything else. */
export interface Connections {
  /** A connection, prepared for a statement with a generic plan if one is wanted. The caller releases it. */
  take(wantsGenericPlan?: boolean): Promise<pg.PoolClient>;
  /** How many there are of both kinds, and how many callers wait for one. */
  counts(): { inUse: number; idle: number; waiting: number };
  /** Waits for what is under way, then closes them. */
  end(): Promise<void>;
}

/**
 * Without `genericPlanPool`, all statements use `pool`, and none has a generic plan.
 *
 * A caller may get a connection of the other pool: when the server allows no new one, or, for a statement with a generic
 * plan, when as many callers wait as its pool has connections and `pool` has an idle one.
 *
 * A refused connection is logged once, until none was refused for {@link SAME_OUTAGE_MS} and one succeeded; before any has,
 * start-up reports it.
 */
export function createConnections(
  pool: pg.Pool,
  genericPlanPool: pg.Pool | undefined,
  log: DatabaseLog,
): Connections {
  const pools = genericPlanPool ? [pool, genericPlanPool] : [pool];
  const useGenericPlans = createGenericPlans();
  const sum = (of: (each: pg.Pool) => number) => pools.reduce((total, each) => total + of(each), 0);

  let isLetIn = false;
  let refusedAt = -Infinity;
  for (const each of pools) each.on("connect", () => (isLetIn = true));

  async function takeFrom(from: pg.Pool): Promise<pg.PoolClient> {
    const client = await from.connect();
    if (from !== genericPlanPool) return client;
    try {
      await useGenericPlans(client);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  function tellOnce(refusal: unknown): void {
    const now = performance.now();
    const isNew = isLetIn && now - refusedAt > SAME_OUTAGE_MS;
    isLetIn = false;
    refusedAt = now;
    if (!isNew) return;
    log.warn(
      { reason: refusalInWords(refusal) },
      "The database refuses new connections; waiting until it accepts them",
    );
  }

  return {
    async take(wantsGenericPlan = false) {
      const [own, other] =
        wantsGenericPlan && genericPlanPool ? [genericPlanPool, pool] : [pool, genericPlanPool];
      if (own === genericPlanPool && own.waitingCount >= own.options.max && pool.idleCount > 0)
        return takeFrom(pool);
      try {
        return await takeFrom(own);
      } catch (error) {
        if (isRefusedEntry(error)) tellOnce(error);
        if (!other || !isOutOfConnections(error)) throw error;
        return takeFrom(other);
      }
    },
    counts() {
      const idle = sum(({ idleCount }) => idleCount);
      return {
        inUse: sum(({ totalCount }) => totalCount) - idle,
        idle,
        waiting: sum(({ waitingCount }) => waitingCount),
      };
    },
    end: async () => void (await Promise.all(pools.map((each) => each.end()))),
  };
}
