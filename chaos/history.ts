/** From when to when, by `Date.now()`; without an end as long as it lasts. */
export interface Span {
  fromMs: number;
  toMs: number;
}

/** What was done to the service, as far as the verdict needs it. All times are `Date.now()`. */
export interface History {
  /** Resources whose provision the platform saw answered with success. */
  acknowledged: Set<string>;
  /** Resources whose deprovision was answered with success. */
  deprovisioned: Set<string>;
  /** Resources of which a call was never answered, however often it was sent: what came of it only the service knows. */
  unheard: Set<string>;
  /** Resources whose access token was killed, and when. */
  killedTokens: { uuid: string; atMs: number }[];
  /** When the database was away, silent, or could not say what it had done. */
  databaseTroubles: Span[];
  /** When a new client secret was set: all tokens are replaced before their time. */
  renewals: Span[];
  /** Exit codes and times of processes that were asked to stop. */
  stops: { name: string; code: number | string | null; ms: number }[];
  /** Client secrets and keys that were ever used. */
  secrets: Set<string>;
  /** How many of each thing happened, for the report. */
  counts: Map<string, number>;
  count(what: string): void;
}

export function createHistory(): History {
  const counts = new Map<string, number>();
  return {
    acknowledged: new Set(),
    deprovisioned: new Set(),
    unheard: new Set(),
    killedTokens: [],
    databaseTroubles: [],
    renewals: [],
    stops: [],
    secrets: new Set(),
    counts,
    count: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
  };
}

/** Runs something, and writes down from when to when. */
export async function during<Result>(spans: Span[], work: () => Promise<Result>): Promise<Result> {
  const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
  spans.push(span);
  try {
    return await work();
  } finally {
    span.toMs = Date.now();
  }
}
