import type { RowOf } from "../database/statement.ts";
import type { LimitedFunction } from "../offer.ts";
import { whereHeld } from "../processes/history-store.ts";
import type { Json } from "../values.ts";
import type { StepRow } from "../work/queue.ts";
import { type ClaimedStep, FIRST_LEASE, type StepRunner } from "../work/step.ts";
import type { Answer, Result } from "./answers.ts";
import { RESOURCE_COLUMNS, type ResourceRow } from "./rows.ts";

// The kinds of steps, and the rules for which step of a resource may begin. The steps that change one resource run one at a
// time and in order.

/**
 * The lanes of the queue. Steps that only call the platform take a moment; the vendor's functions may take minutes; a
 * rotation of all resources, or a job that suspends many, may take hours. Each lane is claimed separately and has its own
 * limit, so that no lane waits for a slower one.
 */
export const LANE_NAMES = ["vendor", "platform", "rotation", "suspension"] as const;
export type LaneName = (typeof LANE_NAMES)[number];

/**
 * `isIndependent`: the step neither waits for other steps of its resource nor delays them, because it reads the present
 * state when it runs. Exception: a `retire` delays the next rotation. A `clean_up` does not wait either; all other steps
 * of its resource were deleted.
 */
export const STEP_KINDS = {
  provision: { lane: "vendor" },
  finish: { lane: "vendor" },
  change_plan: { lane: "vendor" },
  clean_up: { lane: "vendor" },
  announce: { lane: "platform", isIndependent: true },
  discover: { lane: "platform", isIndependent: true },
  report_failure: { lane: "platform" },
  rotate: { lane: "rotation" },
  retire: { lane: "rotation", isIndependent: true },
  suspend: { lane: "suspension" },
  resume: { lane: "suspension" },
} as const satisfies Record<string, { lane: LaneName; isIndependent?: true }>;

export type StepKind = keyof typeof STEP_KINDS;

const ALL = Object.entries(STEP_KINDS) as [StepKind, { lane: LaneName; isIndependent?: true }][];
const oneOf = (kinds: readonly StepKind[]) => `IN (${kinds.map((kind) => `'${kind}'`).join(", ")})`;
const kindsOf = (lane: LaneName) => ALL.flatMap(([kind, its]) => (its.lane === lane ? [kind] : []));

/** The vendor's function that a step of this kind calls. */
export function functionOf(kind: StepKind): LimitedFunction {
  if (kind === "change_plan") return "changePlan";
  return kind === "clean_up" ? "deprovision" : (kind as LimitedFunction);
}

/** SQL condition: the step is in this lane. The lane's partial index has the same condition. */
export const whereIn = (lane: LaneName): string => `kind ${oneOf(kindsOf(lane))}`;

/** The kinds that call the vendor's functions. */
export const VENDOR_CALL_KINDS = ALL.flatMap(([kind, { lane }]) => (lane === "platform" ? [] : [kind]));
/** SQL condition on the step aliased `s`: the step calls a vendor's function, so an operator may retry it or give it up. */
export const IS_VENDOR_CALL = `s.kind ${oneOf(VENDOR_CALL_KINDS)}`;

/** SQL condition: the step is a rotation that has made new credentials and must announce them to the platform. */
export const whereAnnouncing = (step: string): string =>
  `(${step}.kind = 'rotate' AND ${step}.detail ? 'retires')`;

/** SQL condition: the step belongs to a plan change. Only such steps have a plan. */
export const whereOfPlanChange = (step: string): string => `(${step}.detail ? 'plan')`;

const INDEPENDENT = ALL.flatMap(([kind, { isIndependent }]) => (isIndependent ? [kind] : []));
/** SQL condition: the step neither waits for other steps of its resource nor delays them. */
export const whereIndependent = (step: string): string =>
  `(${step}.kind ${oneOf(INDEPENDENT)} OR ${whereAnnouncing(step)})`;

/**
 * SQL condition: no restored backup holds the step back (processes/history.ts). Steps of requests after the restore run,
 * except an announcement: the config vars of an older resource may be those of the backup.
 */
export const whereNotHeld = (step: string): string =>
  `(${step}.kind = 'discover' OR NOT ${whereHeld(`(
        ${step}.${whereIn("rotation")} OR ${step}.created_at < h.restored_at
        OR (${step}.kind = 'announce' AND (SELECT r.created_at FROM resources r WHERE r.uuid = ${step}.uuid) < h.restored_at))`)})`;

/** SQL condition: no earlier step of the same resource must run first. */
export const whereTurn = (step: string): string =>
  `(${whereIndependent(step)} OR ${step}.kind = 'clean_up' OR NOT EXISTS (
        SELECT 1 FROM steps earlier WHERE earlier.uuid = ${step}.uuid AND earlier.id < ${step}.id
          AND (NOT ${whereIndependent("earlier")} OR (earlier.kind = 'retire' AND ${step}.kind = 'rotate'))))`;

/** SQL condition: the step may begin. */
export const whereNext = (step: string): string => `(${whereNotHeld(step)} AND ${whereTurn(step)})`;

/** SQL: a due time that is earlier than that of every waiting step of a lane. */
export const beforeAllIn = (lane: LaneName): string =>
  `least(now(), (SELECT min(due_at) FROM steps WHERE ${whereIn(lane)}) - interval '1 millisecond')`;
export const BEFORE_ROTATIONS = beforeAllIn("rotation");

/** SQL list: the states of a credential in which the platform can be called, now or once it is refreshed. */
export const HAS_TOKENS = `'active', 'needs_reauth'`;

/** A claimed step, with its resource as it was at the claim. */
export interface Step extends ClaimedStep {
  kind: StepKind;
  /**
   * `plan`: the new plan of a plan change, in its `change_plan`, `finish` and `announce`. `isAccepted`: the platform was
   * answered "done" or "later". `isLate`: the 11-hour alarm was raised. `retires`: names what a rotation replaced, from
   * the new credentials to their `retire`. `isDoubted`: the `discover` checks whether the platform still has the add-on.
   * `reason`: why a `suspend` was requested. `isAgain`: the `suspend` follows a change of a suspended resource. `kept`:
   * what a `clean_up` keeps of the ended resource.
   */
  detail: {
    plan?: string;
    isAccepted?: boolean;
    isLate?: boolean;
    retires?: Json;
    isDoubted?: boolean;
    reason?: string;
    isAgain?: boolean;
    kept?: KeptOfEnded;
  };
  resource: ResourceRow;
  /** What the vendor's function returned, if it ended in this process. */
  result?: Result;
}

/**
 * What the clean-up of an ended resource keeps of it, since the resource itself is erased. Times are ISO 8601. The step is
 * deleted when the clean-up is done (end-store.ts).
 */
export interface KeptOfEnded extends Pick<ResourceRow, "name" | "options" | "suspendReason"> {
  createdAt: string;
  endedAt: string;
  suspendedAt: string | null;
}

/** The runner of the steps of resources (steps.ts). */
export type ResourceWork = StepRunner<LaneName, Step, Answer>;

/** A claim returns the step's resource with the step. */
export const ABOUT_RESOURCE = { table: "resources r", on: "r.uuid = s.uuid", columns: RESOURCE_COLUMNS };

export function stepOf(row: StepRow & RowOf<typeof RESOURCE_COLUMNS> & { claimedAtMs: number }): Step {
  const { uuid, key, kind, detail, attempts, lease, requestId, traceparent, claimedAtMs } = row;
  const claimed = { uuid, key, attempts, lease, requestId, traceparent, claimedAtMs };
  return {
    ...claimed,
    kind: kind as StepKind,
    detail: detail as Step["detail"],
    resource: row as ResourceRow,
  };
}

/** The step that a request has just stored as claimed by this process. */
export function newStep(
  resource: ResourceRow,
  work: Pick<Step, "key" | "kind" | "detail" | "requestId" | "traceparent"> & { claimedAtMs: number },
): Step {
  return { uuid: resource.uuid, attempts: 1, lease: FIRST_LEASE, resource, ...work };
}

export const isOfPlanChange = ({ detail }: Pick<Step, "detail">): boolean => detail.plan !== undefined;

/** Whether a rotation has made new credentials and must announce them. */
export const isAnnouncing = ({ kind, detail }: Pick<Step, "kind" | "detail">): boolean =>
  kind === "rotate" && detail.retires !== undefined;
