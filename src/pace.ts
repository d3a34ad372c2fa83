/** How long the service waits, and how long it makes others wait. Tests pass shorter times; the service uses {@link PACE}. */
export interface Pace {
  /** From the answer to a provision until its grant is exchanged. The platform accepts the code after it has the answer. */
  readonly exchangeAfterMs: number;
  /** After this delay a job looks for due work; one run serves all work that falls due until then. */
  readonly soonMs: number;
  /** How long the vendor's function may take before the answer is "later". The platform wants an answer within 3 s. */
  readonly vendorMs: number;
  /** How long one request may wait for the database in all. The platform gives up later. */
  readonly requestMs: number;
  /** A factor of all pauses between attempts (credentials/verdict.ts, and the vendor's `againInSeconds`). */
  readonly pauses: number;
  /** A factor of the waits within one call to the platform: before a retry, and until the rate limit allows the call. */
  readonly callPauses: number;
  /**
   * How long callers may still send requests on open connections while the server closes. Each answer asks them to close the
   * connection. The last answer has as long to arrive.
   */
  readonly lastOrdersMs: number;
  /** The longest delay of the refusal of a wrong password, after several from the same source. */
  readonly refusalMs: number;
  /** How often the log writes a warning or an error of one kind; 0: each is written. */
  readonly logAgainMs: number;
  /** How long the metrics and the overview show what they have read from the database before they read again. */
  readonly freshMs: number;
  /** How long the overview shows what takes long to read: the platform's answers, your checks, the numbers of a week. */
  readonly probeMs: number;
  /** How long `kit secret set` waits for an accepted call while the secret is presumed wrong. One call a minute is made. */
  readonly presumedMs: number;
  /** The pause before a lost sale is stored, and between two attempts to store it. */
  readonly lostAgainMs: number;
  /**
   * How long the resource of a provision that was answered with an error stays. It is taken down unless the platform repeats
   * the provision.
   */
  readonly refusedStaysMs: number;
  /** Differences between the ledgers that are noticed within this time raise one alarm together. */
  readonly gatherMs: number;
  /** How long `kit reconcile` waits for the next item of your service's list. */
  readonly listMs: number;
  /** How long `kit doctor` waits for one of your service's checks. */
  readonly checkMs: number;
  /** How often a process writes that it runs. It counts as missing after six times as long without a write. */
  readonly beatMs: number;
  /** How often a command with `--watch` looks again. */
  readonly watchMs: number;
  /** How often `kit events --follow` looks for new events, and a run of a job by hand whether it has ended. */
  readonly followMs: number;
  /** How long an operator's action waits until a process that runs jobs has begun one. */
  readonly handOverMs: number;
}

export const PACE: Pace = {
  exchangeAfterMs: 1_000,
  soonMs: 50,
  vendorMs: 2_800,
  requestMs: 8_000,
  pauses: 1,
  callPauses: 1,
  lastOrdersMs: 500,
  refusalMs: 1_000,
  logAgainMs: 60_000,
  freshMs: 2_000,
  probeMs: 60_000,
  presumedMs: 90_000,
  lostAgainMs: 2_000,
  refusedStaysMs: 3_600_000,
  gatherMs: 5_000,
  listMs: 60_000,
  checkMs: 10_000,
  beatMs: 10_000,
  watchMs: 5_000,
  followMs: 1_000,
  handOverMs: 120_000,
};

/** The seconds after the n-th attempt; the last value repeats. A random part of at most `spread` is added or subtracted. */
export interface Backoff {
  seconds: readonly number[];
  spread: number;
}

export function nextTryInSeconds({ seconds, spread }: Backoff, tries: number): number {
  const base = seconds[Math.min(Math.max(tries, 1), seconds.length) - 1]!;
  return base * (1 + spread * (2 * Math.random() - 1));
}
