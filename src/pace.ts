/** How long the service waits, and lets others wait. Tests pass shorter times; everybody else gets {@link PACE}. */
export interface Pace {
  /** From the answer to a provision until its grant is exchanged: the platform must have seen the answer first. */
  readonly exchangeAfterMs: number;
  /** How long the vendor's function may take before the answer is "later": the platform wants one within 3 s. */
  readonly vendorMs: number;
  /** How long one request may wait for the database in all, so that it is answered before the platform gives up. */
  readonly requestMs: number;
  /** A factor of all pauses between tries (credentials/verdict.ts, and `againInSeconds` of the vendor's). */
  readonly pauses: number;
  /** A factor of the waits within one call to the platform: before it is repeated, and until its limit allows it. */
  readonly callPauses: number;
  /**
   * How long callers of a server that closes may still send requests on open connections, and are told to close them;
   * an answer that was sent has as long to arrive.
   */
  readonly lastOrdersMs: number;
  /** How long the refusal of a wrong password is held back at most, after several from the same source. */
  readonly refusalMs: number;
  /** How often the log takes a warning or an error of one kind; 0: each is written. */
  readonly logAgainMs: number;
  /** How long the metrics and the overview show what they have read: the database is asked no more often. */
  readonly freshMs: number;
  /** How long `kit secret set` waits for a success that refutes that its secret is wrong: one call a minute is made. */
  readonly presumedMs: number;
  /** Pause before what a process had to refuse is stored, and between two tries. */
  readonly lostAgainMs: number;
  /** Differences between the ledgers that are noticed within so long are one alarm. */
  readonly gatherMs: number;
  /** How long `kit reconcile` waits for the next item of your service's list. */
  readonly listMs: number;
  /** How long `kit doctor` waits for one of your service's checks. */
  readonly checkMs: number;
  /** How often a process writes that it runs; after six times as long without, it is missing. */
  readonly beatMs: number;
  /** How often `kit events --follow` looks for new events. */
  readonly followMs: number;
}

export const PACE: Pace = {
  exchangeAfterMs: 1_000,
  vendorMs: 2_800,
  requestMs: 8_000,
  pauses: 1,
  callPauses: 1,
  lastOrdersMs: 500,
  refusalMs: 1_000,
  logAgainMs: 60_000,
  freshMs: 2_000,
  presumedMs: 90_000,
  lostAgainMs: 2_000,
  gatherMs: 5_000,
  listMs: 60_000,
  checkMs: 10_000,
  beatMs: 10_000,
  followMs: 1_000,
};

/** Seconds after the n-th try, the last value repeating; jitter adds or subtracts the share `spread`. */
export interface Backoff {
  seconds: readonly number[];
  spread: number;
}

export function nextTryInSeconds({ seconds, spread }: Backoff, tries: number): number {
  const base = seconds[Math.min(Math.max(tries, 1), seconds.length) - 1]!;
  return base * (1 + spread * (2 * Math.random() - 1));
}
