/** Identifies a claim. */
export interface Claim {
  /** The uuid of the resource that the step concerns. */
  uuid: string;
  /** The idempotency key of the work; the key of a provision is its uuid. */
  key: string;
  lease: number;
}

/** A claimed step. */
export interface ClaimedStep extends Claim {
  kind: string;
  detail: object;
  attempts: number;
  /** When the claim was sent (ms since 1970). Not monotonic: `performance.now()` may stop while the machine sleeps. */
  claimedAtMs: number;
  /** The request that caused the step, as the log names it; `null` if no request did. */
  requestId: string | null;
  /** The trace that the step continues (W3C `traceparent`); `null` if the step starts its own trace. */
  traceparent: string | null;
}

/** The lease number of a step that is stored as claimed. Every further claim raises the number. */
export const FIRST_LEASE = 1;

/** Runs the steps of this process; made by runner.ts. */
export interface StepRunner<LaneName extends string, Step, Answer> {
  /** Runs a step that a request has stored as claimed. Resolves to the answer if this run decided it, or to `null`; never rejects. */
  start(step: Step): Promise<Answer | null>;
  /** Reports that the database was unreachable. No row is claimed until living calls have extended their leases. */
  noteOutage(): void;
  /** Calls `claim` of another queue; returns no rows while claims rest after an outage. */
  claimAfterRest<Row>(claim: () => Promise<Row[]>): Promise<Row[]>;
  /** Whether claims rest after an outage. Rejects while the database is unreachable. */
  rests(): Promise<boolean>;
  /** Seconds until claims are allowed again; 0 if they are. */
  restSeconds(): number;
  /** Claims and starts every due step of a lane. Returns how many steps were started. */
  runDue(lane: LaneName, signal: AbortSignal): Promise<number>;
  /** Seconds until `runDue` of this lane is to be called again; `null` if no step has a due time. */
  nextInSeconds(lane: LaneName): Promise<number | null>;
  /** Resolves when no step is running. Steps that still run after 10 seconds are aborted and put off. */
  settled(): Promise<void>;
}
