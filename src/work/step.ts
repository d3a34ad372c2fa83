/** What names a claim. */
export interface Claim {
  /** Of the resource that the step concerns. */
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
  /** When its claim was sent (ms), by the clock that goes on while the process stands still. */
  claimedAtMs?: number;
  /** Of the request that caused it, as the log names it; null: none did. */
  requestId: string | null;
  /** The trace it belongs to (W3C); null: none, or one of its own. */
  traceparent: string | null;
}

/** The lease number of newly written work; every claim raises it. */
export const FIRST_LEASE = 1;

/** Made by runner.ts; knows what is under way in this process. */
export interface StepRunner<LaneName extends string, Step, Answer> {
  /** Runs a claimed step at once. Resolves to the answer if this was the first to decide one. Never rejects. */
  start(step: Step): Promise<Answer | null>;
  /** The database was unreachable: no step is claimed until living calls have extended their leases. */
  noteOutage(): void;
  /** What a claim of other work takes; nothing, for as long. */
  patiently<Row>(claim: () => Promise<Row[]>): Promise<Row[]>;
  /** For so many seconds more. */
  restSeconds(): number;
  /** Starts every step of a lane that is due. Returns how many it took. */
  runDue(lane: LaneName, signal: AbortSignal): Promise<number>;
  /** Seconds until the next look for steps of a lane; null: none is waiting. */
  nextInSeconds(lane: LaneName): Promise<number | null>;
  /** Resolves when no step is under way. Steps that still run after 10 seconds are aborted and put off. */
  settled(): Promise<void>;
}
