/** A moment in which something was broken on purpose; answers that cross it may be lost without anybody's fault. */
export interface Disturbance {
  what: string;
  fromMs: number;
  toMs: number;
}

/** What was done to the service, as far as the verdict needs it. All times are `Date.now()`. */
export interface History {
  /** Resources whose provision the platform saw answered with success. */
  acknowledged: Set<string>;
  /** Resources whose deprovision was answered with success. */
  deprovisioned: Set<string>;
  /** Resources whose refresh token the platform revoked. */
  revoked: Set<string>;
  /** Resources whose access token was killed, or all by a reset of the client secret, and when. */
  killedTokens: { uuid: string | null; atMs: number }[];
  disturbances: Disturbance[];
  /** Exit codes and times of processes that were asked to stop. */
  stops: { name: string; code: number | string | null; ms: number }[];
  /** Client secrets and keys that were ever used. */
  secrets: Set<string>;
  /** How many of each thing happened, for the report. */
  counts: Map<string, number>;
  count(what: string): void;
  /** Runs something that breaks things, and remembers when. */
  disturbed<Result>(what: string, work: () => Promise<Result>): Promise<Result>;
}

export function createHistory(): History {
  const counts = new Map<string, number>();
  const disturbances: Disturbance[] = [];
  return {
    acknowledged: new Set(),
    deprovisioned: new Set(),
    revoked: new Set(),
    killedTokens: [],
    disturbances,
    stops: [],
    secrets: new Set(),
    counts,
    count: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    async disturbed(what, work) {
      counts.set(what, (counts.get(what) ?? 0) + 1);
      const disturbance = { what, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      disturbances.push(disturbance);
      try {
        return await work();
      } finally {
        disturbance.toMs = Date.now();
      }
    },
  };
}
