/** A period in terms of `Date.now()`; `toMs` is infinite until it ends. */
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
  /**
   * Resources with a call that was never answered, however often it was sent: only the service knows what came of it.
   */
  unheard: Set<string>;
  /** Resources whose access token was killed, and when. */
  killedTokens: { uuid: string; atMs: number }[];
  /** The periods in which the database was away, silent, or could not acknowledge its commits. */
  databaseTroubles: Span[];
  /** The periods in which a new client secret was set: all tokens are replaced early then. */
  renewals: Span[];
  /** Exit codes and times of processes that were asked to stop. */
  stops: { name: string; code: number | string | null; ms: number }[];
  /** Client secrets and keys that were ever used. */
  secrets: Set<string>;
  /** How often each thing happened, for the report. */
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

/** Runs `work` and records its period in `spans`. */
export async function during<Result>(spans: Span[], work: () => Promise<Result>): Promise<Result> {
  const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
  spans.push(span);
  try {
    return await work();
  } finally {
    span.toMs = Date.now();
  }
}
