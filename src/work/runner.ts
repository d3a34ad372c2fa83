import type { Context } from "../context.ts";
import type { Answer } from "../resources/answers.ts";
import type { GrantsFirst } from "./grants-first.ts";
import { createLeaseKeeper } from "./lease-keeper.ts";
import { announceStep, discoverStep, reportFailureStep } from "./platform-steps.ts";
import { createPutOff } from "./put-off.ts";
import { CONCURRENCY } from "./queue.ts";
import { eachLane, type Step, type StepKind, type StepRunner } from "./step.ts";
import { changePlanStep, cleanUpStep, finishStep, provisionStep } from "./vendor-steps.ts";
import { createWorkerPool } from "./worker-pool.ts";

/**
 * One function per kind of step. It settles its step, and returns the answer if that decided one. Throwing means: not
 * yet, try again.
 */
const KINDS: Readonly<
  Record<StepKind, (ctx: Context, step: Step, signal: AbortSignal) => Promise<Answer | null | void>>
> = {
  provision: provisionStep,
  finish: finishStep,
  change_plan: changePlanStep,
  clean_up: cleanUpStep,
  announce: announceStep,
  discover: discoverStep,
  report_failure: reportFailureStep,
};

/** How long running steps may go on when the process stops; it has 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

/** The only place that runs steps, for sweeps and for requests. */
export function createStepRunner(ctx: Context, grantsFirst: Pick<GrantsFirst, "mustWait">): StepRunner {
  const { steps: queue, log } = ctx;
  const leases = createLeaseKeeper({ queue, log });
  const putOff = createPutOff({ ...ctx, queue });
  const started = new Set<Promise<unknown>>();

  /** Runs one claimed step under its lease: its function settles it, or throws. */
  async function run(step: Step): Promise<Answer | null> {
    if (isUnwanted(step)) return endUnwanted(step);
    try {
      return (await leases.holding(step, (signal) => KINDS[step.kind](ctx, step, signal))) ?? null;
    } catch (error) {
      await putOff(step, error);
      return null;
    }
  }

  /**
   * Ends a step that was written by a process that did not see the resource's end. That of a provision that failed
   * becomes a clean-up, as it may have been made in part.
   */
  async function endUnwanted(step: Step): Promise<null> {
    const isBeingMade = step.kind === "provision" || step.kind === "finish";
    if (step.resource.state === "failed" && isBeingMade) await queue.cleanUpAfter(step);
    else await queue.finish(step);
    return null;
  }

  function logLost(error: unknown): null {
    log.error({ error }, "The end of a step could not be stored; its lease ends by itself");
    return null;
  }

  const pools = eachLane((lane) =>
    createWorkerPool({
      claim: (most) => queue.claim(lane, most),
      handle: async (step: Step) => void (await run(step).catch(logLost)),
      concurrency: CONCURRENCY,
      forNow: () => (grantsFirst.mustWait() ? 0 : CONCURRENCY),
      onEnd: nudge,
    }),
  );

  /** The next step may be in the other lane. */
  function nudge(): void {
    ctx.nudge("run-steps");
    ctx.nudge("run-vendor-steps");
  }

  return {
    nudge,
    start(step) {
      const end = run(step)
        .catch(logLost)
        .finally(() => started.delete(end));
      started.add(end);
      // The commonest end, a provision that is done, leaves no step behind.
      void end.then((answer) => (step.kind === "provision" && answer?.status === 200) || nudge());
      return end;
    },
    runDue: (lane, signal) => pools[lane].fill(signal),
    // A run may have ended while the steps waited for grants, with all that was due still waiting.
    nextInSeconds: async (lane) => (grantsFirst.mustWait() ? 0 : queue.nextInSeconds(lane)),
    async findLate() {
      const expired = await queue.expire();
      for (const uuid of expired) {
        log.error(
          { alarm: "provision_failed", uuid },
          "A provision was not completed in 11 hours and is given up",
        );
      }
      if ((await queue.wake()) + expired.length > 0) nudge();
    },
    async settled() {
      const limit = setTimeout(leases.cutOff, STOP_PATIENCE_MS);
      await Promise.all([pools.vendor.settled(), pools.platform.settled(), ...started]);
      clearTimeout(limit);
      leases.resume();
    },
  };
}

/** Whether the resource has ended, so that only its clean-up is still wanted. */
function isUnwanted({ kind, resource: { state } }: Step): boolean {
  return (state === "deprovisioned" || state === "failed") && kind !== "clean_up";
}
