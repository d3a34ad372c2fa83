import type { Context } from "../context.ts";
import { hasGrantsFirst } from "../credentials/pools.ts";
import { chainOf, mayQuote } from "../errors.ts";
import { NoToken, PlatformRefused, RateLimited, TransportError, UnreadableAnswer } from "../platform/call.ts";
import { endStep, laneOf } from "../work/queue.ts";
import { createStepRunner, type Judgement, type Run, type Work } from "../work/runner.ts";
import { announce, reportFailure } from "./announce.ts";
import type { Answer } from "./answers.ts";
import { discover } from "./looks.ts";
import type { ResourceRow } from "./rows.ts";
import { isAlive } from "./states.ts";
import {
  ABOUT_RESOURCE,
  type LaneName,
  type ResourceWork,
  type Step,
  type StepKind,
  stepOf,
  whereIn,
  whereNext,
} from "./step-kinds.ts";
import { callVendor, endedResource, secretsOf, untilDone } from "./vendor-steps.ts";

// The table of the steps of resources: the lane and the function of each kind.

type RunStep = Run<Step, Answer>;

/** The kinds whose functions are in `extend/rotation.ts` and `extend/suspension.ts`. */
export type RotationKind = "rotate" | "retire";
export type SuspensionKind = "suspend" | "resume";
type KindOfExtension = RotationKind | SuspensionKind;

const KINDS: Readonly<Record<Exclude<StepKind, KindOfExtension>, RunStep>> = {
  provision: (ctx, step, signal) =>
    callVendor(ctx, step, signal, (resource) => ctx.vendor.provision(resource)),
  finish: (ctx, step, signal) =>
    callVendor(ctx, step, signal, (resource) => ctx.vendor.finish(resource, ctx.platformFor(step.uuid))),
  change_plan: (ctx, step, signal) =>
    callVendor(ctx, step, signal, (resource) => ctx.vendor.changePlan(resource, step.resource.plan)),
  async clean_up(ctx, step, signal) {
    await untilDone(ctx, step, signal, (resource) => ctx.vendor.deprovision(endedResource(resource, step)));
    await endStep(ctx.db, step);
  },
  announce,
  discover,
  report_failure: reportFailure,
};

const lane = (name: LaneName) =>
  laneOf<ResourceRow>(name, { isIn: whereIn(name), mayBegin: whereNext("due"), about: ABOUT_RESOURCE });
// Each lane has a partial index of its due steps.
export const LANES = {
  vendor: { lane: lane("vendor") },
  platform: { lane: lane("platform") },
  // Fewer at once, because no caller waits for a rotation or a suspension.
  rotation: { lane: lane("rotation"), atOnce: 4 },
  suspension: { lane: lane("suspension"), atOnce: 4 },
};

/** Makes the runner of the steps of resources. */
export function resourceRunner(
  ctx: Context,
  ofExtensions: Readonly<Record<KindOfExtension, RunStep>>,
): ResourceWork {
  const work: Work<LaneName, ResourceRow, Step, Answer> = {
    lanes: LANES,
    stepOf,
    kinds: { ...KINDS, ...ofExtensions },
    isWanted,
    quotable: (ctx, { resource }, error) => mayQuote(error, secretsOf(ctx, resource)),
    judge,
    isPaused: hasGrantsFirst(),
    ended(_, { kind }, answer, isOfRequest) {
      // The most frequent case, a provision that is done while its request waits, leaves no step to wake.
      const leavesNone = isOfRequest && kind === "provision" && answer?.status === 200;
      if (!leavesNone) wakeAll(ctx);
    },
  };
  return createStepRunner(ctx, work);
}

/** Makes the jobs of all lanes run now. */
export function wakeAll(ctx: Pick<Context, "wake">): void {
  ctx.wake.runSteps();
  ctx.wake.runVendorSteps();
  ctx.wake.runRotations();
  ctx.wake.runSuspensions();
}

/**
 * A step is unwanted if its resource has ended, its provision was done before the step was written, or the suspension that
 * it is to repeat is over.
 */
function isWanted({ kind, detail, resource: { state, suspendedAt } }: Step): boolean {
  if (kind === "provision" && state === "provisioned") return false;
  if (kind === "suspend" && detail.isAgain && suspendedAt === null) return false;
  return kind === "clean_up" || isAlive(state);
}

/** Errors of calls to the platform: the function that throws one is not at fault. */
const PLATFORM_ERRORS = [PlatformRefused, TransportError, UnreadableAnswer, RateLimited, NoToken];

function judge(error: unknown): Judgement {
  const mayNameRest = error instanceof PlatformRefused || error instanceof RateLimited;
  return {
    isOfPlatform: chainOf(error).some((each) => PLATFORM_ERRORS.some((type) => each instanceof type)),
    hasOwnAlarm: error instanceof NoToken && error.id === "quarantined",
    restMs: mayNameRest ? (error.retryAfterMs ?? 0) : 0,
  };
}
