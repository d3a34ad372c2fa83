import type pg from "pg";
import { isOutOfConnections } from "./failure.ts";
import { createPlanKeeper } from "./kept-plans.ts";

/** The connections of one process: those for batches, which keep their plans, and those for everything else. */
export interface Connections {
  /** One to work with, ready for what it is taken for. The caller releases it. */
  take(isForBatches?: boolean): Promise<pg.PoolClient>;
  /** How many there are of both kinds, and how many callers wait for one. */
  counts(): { inUse: number; idle: number; waiting: number };
  /** Waits for what is under way, then closes them. */
  end(): Promise<void>;
}

/** Without a pool for batches these share the others. Where the server allows no more, either kind helps out the other. */
export function createConnections(pool: pg.Pool, batchPool?: pg.Pool): Connections {
  const pools = batchPool ? [pool, batchPool] : [pool];
  const keepPlans = createPlanKeeper();
  const sum = (of: (each: pg.Pool) => number) => pools.reduce((total, each) => total + of(each), 0);

  async function takeForBatches(from: pg.Pool): Promise<pg.PoolClient> {
    const client = await from.connect();
    try {
      await keepPlans(client);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  return {
    async take(isForBatches = false) {
      const [own, other] = isForBatches && batchPool ? [batchPool, pool] : [pool, batchPool];
      try {
        return own === batchPool ? await takeForBatches(own) : await own.connect();
      } catch (error) {
        if (!other || !isOutOfConnections(error)) throw error;
        return other.connect();
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
