/**
 * What a disturbance may do to tokens that were issued. `delay`: they are stored later, for a process or the database
 * stands still. `renewal`: all of them are replaced before their time.
 */
export type Effect = "delay" | "renewal";

/** A moment in which something was broken on purpose. */
export interface Disturbance {
  what: string;
  /** Null: it is nothing that changes when tokens are stored or replaced. */
  effect: Effect | null;
  fromMs: number;
  toMs: number;
}

/** What was done to the service, as far as the verdict needs it. All times are `Date.now()`. */
export interface History {
  /** Resources whose provision the platform saw answered with success. */
  acknowledged: Set<string>;
  /** Resources whose deprovision was answered with success. */
  deprovisioned: Set<string>;
  /** Resources whose access token was killed, and when. */
  killedTokens: { uuid: string; atMs: number }[];
  disturbances: Disturbance[];
  /** Exit codes and times of processes that were asked to stop. */
  stops: { name: string; code: number | string | null; ms: number }[];
  /** Client secrets and keys that were ever used. */
  secrets: Set<string>;
  /** How many of each thing happened, for the report. */
  counts: Map<string, number>;
  count(what: string): void;
  /** Runs something that breaks things, and remembers when. */
  disturbed<Result>(what: string, work: () => Promise<Result>, effect?: Effect): Promise<Result>;
}

export function createHistory(): History {
  const counts = new Map<string, number>();
  const disturbances: Disturbance[] = [];
  return {
    acknowledged: new Set(),
    deprovisioned: new Set(),
    killedTokens: [],
    disturbances,
    stops: [],
    secrets: new Set(),
    counts,
    count: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    async disturbed(what, work, effect) {
      counts.set(what, (counts.get(what) ?? 0) + 1);
      const disturbance = {
        what,
        effect: effect ?? null,
        fromMs: Date.now(),
        toMs: Number.POSITIVE_INFINITY,
      };
      disturbances.push(disturbance);
      try {
        return await work();
      } finally {
        disturbance.toMs = Date.now();
      }
    },
  };
}
