import type { Queryable } from "../../../database/database.ts";
import { databaseState } from "../../../metrics/database-state.ts";
import { sampleShare } from "../../../metrics/store.ts";
import type { Family } from "../../../metrics/metrics.ts";

/** The same gauges as in the metrics; each statement behind them reads a bounded number of rows. */
export interface Gauges {
  /** Whether there are so many credentials that the counts by state and the token ages are estimated from a sample. */
  isEstimated: boolean;
  credentials: { state: string; count: number }[];
  /** Credentials in states that need an operator. */
  attention: { state: string; reason: string; count: number }[];
  /** How much work is due and not done, and for how long the oldest of it has been due. */
  queues: { queue: string; due: number; ageSeconds: number }[];
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
  return { isEstimated: share < 100, ...gaugesIn(await databaseState(db)) };
}

function gaugesIn(families: readonly Family[]): Omit<Gauges, "isEstimated"> {
  const values = (name: string) => families.find((family) => family.name === name)?.values ?? [];
  const ages = values("addon_due_age_seconds");
  return {
    credentials: values("addon_credentials").map(({ labels, value }) => ({
      state: String(labels["state"]),
      count: value,
    })),
    attention: values("addon_credentials_needing_attention").map(({ labels, value }) => ({
      state: String(labels["state"]),
      reason: String(labels["reason"]),
      count: value,
    })),
    queues: values("addon_due").map(({ labels: { queue }, value }) => ({
      queue: String(queue),
      due: value,
      ageSeconds: ages.find(({ labels }) => labels["queue"] === queue)?.value ?? 0,
    })),
    tokenAges: agesIn(values("addon_token_age_seconds")),
  };
}

/** A histogram's buckets are cumulative: subtract the previous one. */
function agesIn(values: Family["values"]): Gauges["tokenAges"] {
  const buckets = values.filter(({ metricName }) => metricName?.endsWith("_bucket"));
  return buckets.map(({ labels: { le }, value }, index) => ({
    upToSeconds: le === "+Inf" ? null : Number(le),
    count: value - (buckets[index - 1]?.value ?? 0),
  }));
}
