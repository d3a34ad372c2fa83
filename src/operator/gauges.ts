import { STATES_OF_RESOURCES } from "../credentials/states.ts";
import type { Queryable } from "../database/database.ts";
import { AGES } from "../metrics/database-state.ts";
import { attention, queues, sampled, sampleShare, type Attention, type Waiting } from "../metrics/store.ts";

/** What the metrics show too; each statement behind it reads a bounded number of rows. */
export interface Gauges {
  /** Whether there are so many credentials that the counts by state and the token ages are estimated from a sample. */
  isEstimated: boolean;
  credentials: { state: string; count: number }[];
  /** Credentials in states that need an operator. */
  attention: Attention[];
  /** How much work is due and not done, and for how long the oldest of it has been due. */
  queues: Waiting[];
  /** How many tokens are in each age bucket; the bound of the last bucket is null. */
  tokenAges: { upToSeconds: number | null; count: number }[];
}

/** However often the pages are requested, the database is queried no more often than this. */
const FRESH_MS = 2_000;

export function createGauges(db: Queryable): () => Promise<Gauges> {
  let known: { gauges: Promise<Gauges>; atMs: number } | null = null;
  return () => {
    if (known && performance.now() - known.atMs < FRESH_MS) return known.gauges;
    const gauges = measure(db);
    // A failure is not cached: the next request queries again.
    gauges.catch(() => (known = null));
    known = { gauges, atMs: performance.now() };
    return gauges;
  };
}

async function measure(db: Queryable): Promise<Gauges> {
  const share = await sampleShare(db);
  const rows = await sampled(db, share, AGES);
  const count = (isCounted: (row: (typeof rows)[number]) => boolean) =>
    Math.round((rows.filter(isCounted).reduce((sum, row) => sum + row.count, 0) * 100) / share);
  return {
    isEstimated: share < 100,
    credentials: STATES_OF_RESOURCES.map((state) => ({ state, count: count((row) => row.state === state) })),
    attention: await attention(db),
    queues: await queues(db),
    tokenAges: [...AGES, null].map((upToSeconds, index) => ({
      upToSeconds,
      count: count(({ bucket }) => bucket === index),
    })),
  };
}
