import type { Json } from "../values.ts";
import type { LimitedFunction } from "../offer.ts";
import type { Answer, Result } from "../resources/answers.ts";
import type { ResourceRow } from "../resources/rows.ts";

/**
 * A step that only calls the platform takes a moment, and must never wait behind the vendor's functions, which take
 * minutes; nor does either wait behind the rotation of all resources. So each lane is claimed alone and has places of
 * its own.
 */
const LANES = {
  provision: "vendor",
  finish: "vendor",
  change_plan: "vendor",
  clean_up: "vendor",
  announce: "platform",
  discover: "platform",
  report_failure: "platform",
  rotate: "rotation",
  retire: "rotation",
} as const;

export type StepKind = keyof typeof LANES;
export type Lane = (typeof LANES)[StepKind];

export function functionOf(kind: StepKind): LimitedFunction {
  if (kind === "change_plan") return "changePlan";
  return kind === "clean_up" ? "deprovision" : (kind as LimitedFunction);
}

export function whereIn(lane: Lane): string {
  const kinds = Object.entries(LANES).flatMap(([kind, its]) => (its === lane ? [`'${kind}'`] : []));
  return `kind IN (${kinds.join(", ")})`;
}

export const YOUR_KINDS = (Object.keys(LANES) as StepKind[]).filter((kind) => LANES[kind] !== "platform");

/** SQL condition: the step aliased `s` is of these kinds; an operator may take it into the hand. */
export const IS_OF_YOU = `s.kind IN (${YOUR_KINDS.map((kind) => `'${kind}'`).join()})`;
export const whereAnnouncing = (step: string): string =>
  `(${step}.kind = 'rotate' AND ${step}.detail ? 'retires')`;

export function eachLane<Made>(make: (lane: Lane) => Made): Readonly<Record<Lane, Made>> {
  return { vendor: make("vendor"), platform: make("platform"), rotation: make("rotation") };
}

/** SQL: how long a claim holds. */
export const LEASE = "interval '30 seconds'";

/** How often it is extended while its process lives; so soon is noticed, too, that it was taken away. */
export const HOLD_EVERY_MS = 3_000;
/** In this time a process has extended its leases, or noticed that a step is not its own any more. */
export const NOTICED_MS = HOLD_EVERY_MS + 2_000;
/** SQL: when it has. */
export const NOTICED = `now() + interval '${NOTICED_MS / 1_000} seconds'`;

/** The longest one step may run: a call of ten minutes, and as long to store what came of it. */
export const LONGEST_STEP_MS = 20 * 60_000;

/** The lease number of newly written work; every claim raises it. */
export const FIRST_LEASE = 1;

/** A claimed step, with its resource as it was at the claim. */
export interface Step {
  /** The idempotency key of the work; of a provision, its uuid. With the lease number it names the claim. */
  key: string;
  kind: StepKind;
  /**
   * `plan`: the new plan of a plan change, from its `change_plan` to the `finish` and the `announce` that it turns
   * into; the steps of a provision have none. `isAccepted`: the platform was answered yes, or "later". `retires`: what
   * a rotation replaced, from when that is made, and the platform is to be told, to its `retire`. `isDoubted`: of a
   * `discover` that asks whether the platform still has the add-on.
   */
  detail: { plan?: string; isAccepted?: boolean; isLate?: boolean; retires?: Json; isDoubted?: boolean };
  attempts: number;
  lease: number;
  /** When its claim was sent (ms), by the clock that goes on while the process stands still. */
  claimedAtMs?: number;
  /** Of the request that caused it, as the log names it; null: none did. */
  requestId: string | null;
  /** The trace it belongs to (W3C); null: none, or one of its own. */
  traceparent: string | null;
  resource: ResourceRow;
  /** What the vendor's function returned, if it has in this process. */
  result?: Result;
}

/** Work that a request has just stored, as claimed by this process. */
export const newStep = (
  resource: ResourceRow,
  work: Pick<Step, "key" | "kind" | "detail" | "requestId" | "traceparent">,
): Step => ({ attempts: 1, lease: FIRST_LEASE, resource, ...work });

export const isOfPlanChange = ({ detail }: Pick<Step, "detail">): boolean => detail.plan !== undefined;

export const whereOfPlanChange = (step: string): string => `(${step}.detail ? 'plan')`;

/** Whether a rotation has made new credentials: then it is like an `announce`, but that it stays in its place. */
export const isAnnouncing = ({ kind, detail }: Pick<Step, "kind" | "detail">): boolean =>
  kind === "rotate" && detail.retires !== undefined;

/** Made by runner.ts, the only place that runs steps, for requests and for the jobs; knows what is under way here. */
export interface StepRunner {
  /** Runs a claimed step at once. Resolves to the answer if this was the first to decide one. Never rejects. */
  start(step: Step): Promise<Answer | null>;
  /** The database was unreachable: no step is claimed until living calls have extended their leases. */
  noteOutage(): void;
  /** What a claim of other work takes; nothing, for as long. */
  patiently<Row>(claim: () => Promise<Row[]>): Promise<Row[]>;
  /** For so many seconds more. */
  restSeconds(): number;
  /** Starts every step of a lane that is due. Returns how many it took. */
  runDue(lane: Lane, signal: AbortSignal): Promise<number>;
  /** Seconds until the next look for steps of a lane; null: none is waiting. */
  nextInSeconds(lane: Lane): Promise<number | null>;
  /** Resolves when no step is under way. Steps that still run after 10 seconds are aborted and put off. */
  settled(): Promise<void>;
}
