import type { RowOf } from "../database/statement.ts";
import type { LimitedFunction } from "../offer.ts";
import { whereHeld } from "../processes/history-store.ts";
import type { Json } from "../values.ts";
import type { StepRow } from "../work/queue.ts";
import { FIRST_LEASE, type ClaimedStep, type StepRunner } from "../work/step.ts";
import type { Answer, Result } from "./answers.ts";
import { RESOURCE_COLUMNS, type ResourceRow } from "./rows.ts";

// The kinds of steps, and which step of a resource may begin. Two steps of one resource that change it never run at the
// same time or out of order.

/**
 * A step that only calls the platform takes a moment, and must never wait behind the vendor's functions, which take
 * minutes; nor does either wait behind the rotation of all resources. So each lane is claimed alone and has places of
 * its own.
 */
export type LaneName = "vendor" | "platform" | "rotation";

/**
 * `isBeside`: the step waits for no other step of its resource and holds none up: it discovers the app, or announces the
 * config vars, as they are by then. A `retire` holds up the next rotation alone; a `clean_up` has nothing left to wait
 * for.
 */
export const STEP_KINDS = {
  provision: { lane: "vendor" },
  finish: { lane: "vendor" },
  change_plan: { lane: "vendor" },
  clean_up: { lane: "vendor" },
  announce: { lane: "platform", isBeside: true },
  discover: { lane: "platform", isBeside: true },
  report_failure: { lane: "platform" },
  rotate: { lane: "rotation" },
  retire: { lane: "rotation", isBeside: true },
} as const satisfies Record<string, { lane: LaneName; isBeside?: true }>;

export type StepKind = keyof typeof STEP_KINDS;

const ALL = Object.entries(STEP_KINDS) as [StepKind, { lane: LaneName; isBeside?: true }][];
const oneOf = (kinds: readonly StepKind[]) => `IN (${kinds.map((kind) => `'${kind}'`).join(", ")})`;
const kindsOf = (lane: LaneName) => ALL.flatMap(([kind, its]) => (its.lane === lane ? [kind] : []));

export function functionOf(kind: StepKind): LimitedFunction {
  if (kind === "change_plan") return "changePlan";
  return kind === "clean_up" ? "deprovision" : (kind as LimitedFunction);
}

/** SQL condition: the step is in this lane. As in the lane's index. */
export const whereIn = (lane: LaneName): string => `kind ${oneOf(kindsOf(lane))}`;

/** The kinds that call the vendor's functions. */
export const YOUR_KINDS = ALL.flatMap(([kind, { lane }]) => (lane === "platform" ? [] : [kind]));
/** SQL condition on the step aliased `s`: it is of those, so an operator may retry it or give it up. */
export const IS_OF_YOU = `s.kind ${oneOf(YOUR_KINDS)}`;

/** SQL condition: a rotation has made new credentials, and the platform is to be told. */
export const whereAnnouncing = (step: string): string =>
  `(${step}.kind = 'rotate' AND ${step}.detail ? 'retires')`;

/** SQL condition: a plan change, or what one has turned into. The steps of a provision name no plan. */
export const whereOfPlanChange = (step: string): string => `(${step}.detail ? 'plan')`;

const BESIDE = ALL.flatMap(([kind, { isBeside }]) => (isBeside ? [kind] : []));
/** SQL condition: the step waits for no other step of its resource. */
export const whereBeside = (step: string): string =>
  `(${step}.kind ${oneOf(BESIDE)} OR ${whereAnnouncing(step)})`;

/**
 * SQL condition: no restore holds the step (processes/history.ts). A step that a request has brought since is carried
 * out, but what it would push may still hold values from before.
 */
export const whereNotHeld = (step: string): string =>
  `(${step}.kind = 'discover' OR NOT ${whereHeld(`(
        ${step}.${whereIn("rotation")} OR ${step}.created_at < h.restored_at
        OR (${step}.kind = 'announce' AND (SELECT r.created_at FROM resources r WHERE r.uuid = ${step}.uuid) < h.restored_at))`)})`;

/** SQL condition: no earlier step of its resource is to run first. */
export const whereTurn = (step: string): string =>
  `(${whereBeside(step)} OR ${step}.kind = 'clean_up' OR NOT EXISTS (
        SELECT 1 FROM steps earlier WHERE earlier.uuid = ${step}.uuid AND earlier.id < ${step}.id
          AND (NOT ${whereBeside("earlier")} OR (earlier.kind = 'retire' AND ${step}.kind = 'rotate'))))`;

/** SQL condition: the step may begin. */
export const whereNext = (step: string): string => `(${whereNotHeld(step)} AND ${whereTurn(step)})`;

/** SQL: a time before that of all rotations that are due. */
export const BEFORE_ROTATIONS = `least(now(), (SELECT min(due_at) FROM steps WHERE ${whereIn("rotation")}) - interval '1 millisecond')`;

/** SQL list: the states of a credential in which the platform can be called, now or once it is refreshed. */
export const HAS_TOKENS = `'active', 'needs_reauth'`;

/** A claimed step, with its resource as it was at the claim. */
export interface Step extends ClaimedStep {
  kind: StepKind;
  /**
   * `plan`: the new plan of a plan change, from its `change_plan` to the `finish` and the `announce` that it turns
   * into; the steps of a provision have none. `isAccepted`: the platform was answered yes, or "later". `retires`: what
   * a rotation replaced, from when that is made, and the platform is to be told, to its `retire`. `isDoubted`: of a
   * `discover` that asks whether the platform still has the add-on.
   */
  detail: { plan?: string; isAccepted?: boolean; isLate?: boolean; retires?: Json; isDoubted?: boolean };
  resource: ResourceRow;
  /** What the vendor's function returned, if it has in this process. */
  result?: Result;
}

/** The runner of all work on resources (steps.ts). */
export type ResourceWork = StepRunner<LaneName, Step, Answer>;

/** What a claim of a step returns with it. */
export const ABOUT_RESOURCE = { table: "resources r", on: "r.uuid = s.uuid", columns: RESOURCE_COLUMNS };

export function stepOf(row: StepRow & RowOf<typeof RESOURCE_COLUMNS> & { claimedAtMs?: number }): Step {
  const { uuid, key, kind, detail, attempts, lease, requestId, traceparent, claimedAtMs } = row;
  const claimed = { uuid, key, attempts, lease, requestId, traceparent, ...(claimedAtMs && { claimedAtMs }) };
  return {
    ...claimed,
    kind: kind as StepKind,
    detail: detail as Step["detail"],
    resource: row as ResourceRow,
  };
}

/** Work that a request has just stored, as claimed by this process. */
export function newStep(
  resource: ResourceRow,
  work: Pick<Step, "key" | "kind" | "detail" | "requestId" | "traceparent"> & { claimedAtMs: number },
): Step {
  return { uuid: resource.uuid, attempts: 1, lease: FIRST_LEASE, resource, ...work };
}

export const isOfPlanChange = ({ detail }: Pick<Step, "detail">): boolean => detail.plan !== undefined;

/** Whether a rotation has made new credentials: then it is like an `announce`, but that it stays in its place. */
export const isAnnouncing = ({ kind, detail }: Pick<Step, "kind" | "detail">): boolean =>
  kind === "rotate" && detail.retires !== undefined;
