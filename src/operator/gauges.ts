import type { Queryable } from "../database/database.ts";
import { SAMPLED, stateOfWork } from "../metrics/store.ts";

/** What the metrics show too. */
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
  const samples = await stateOfWork(db, []);
  const all = (name: string) =>
    samples
      .filter(({ sample }) => sample === name)
      .map(({ labels, value }) => ({ label: (which: string) => String(labels[which]), value }));
  // A histogram's buckets are cumulative.
  const upTo = all("addon_token_age_seconds_bucket")
    .map(({ label, value }) => ({ seconds: label("le") === "+Inf" ? null : Number(label("le")), value }))
    .sort((a, b) => (a.seconds ?? Infinity) - (b.seconds ?? Infinity));
  return {
    isEstimated: all(SAMPLED)[0]!.value < 100,
    credentials: all("addon_credentials").map(({ label, value }) => ({
      state: label("state"),
      count: value,
    })),
    attention: all("addon_credentials_needing_attention").map(({ label, value }) => ({
      ...{ state: label("state"), reason: label("reason"), count: value },
    })),
    queues: all("addon_due").map(({ label, value }, index) => ({
      ...{ queue: label("queue"), due: value, ageSeconds: all("addon_due_age_seconds")[index]!.value },
    })),
    tokenAges: upTo.map(({ seconds, value }, index) => ({
      ...{ upToSeconds: seconds, count: value - (upTo[index - 1]?.value ?? 0) },
    })),
  };
}
