import type { Context } from "../context.ts";
import type { Answer } from "../resources/answers.ts";
import { canBe } from "../resources/states.ts";
import type { GrantsFirst } from "./grants-first.ts";
import { holding, Stopped } from "./lease.ts";
import { runPlatformStep } from "./platform-steps.ts";
import { putOff } from "./put-off.ts";
import {
  claimSteps,
  cleanUpAfterStep,
  CONCURRENCY,
  expireSteps,
  findUnansweredProvisions,
  finishStep,
  nextStepInSeconds,
  wakeSteps,
} from "./queue.ts";
import { eachLane, FIRST_LEASE, type Step, type StepKind, type StepRunner } from "./step.ts";
import { runChangePlan, runCleanUp, runFinish, runProvision, writeStepOf } from "./vendor-steps.ts";
import { createWorkerPool } from "./worker-pool.ts";

/**
 * One function per kind of step. It settles its step, and returns the answer if that decided one. Throwing means: not
 * yet, try again.
 */
const KINDS: Readonly<
  Record<StepKind, (ctx: Context, step: Step, signal: AbortSignal) => Promise<Answer | null>>
> = {
  provision: runProvision,
  finish: runFinish,
  change_plan: runChangePlan,
  clean_up: runCleanUp,
  announce: runPlatformStep,
  discover: runPlatformStep,
  report_failure: runPlatformStep,
};

/** How long running steps may go on when the process stops; it has 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

/** The only place that runs steps, for sweeps and for requests. Keeps what is under way in this process. */
export function createStepRunner(ctx: Context, grantsFirst: Pick<GrantsFirst, "mustWait">): StepRunner {
  const { db, log } = ctx;
  const started = new Set<Promise<unknown>>();
  let stopping = new AbortController();
  let lookedUpTo = 0;

  const pools = eachLane((lane) =>
    createWorkerPool({
      claim: (most) => claimSteps(db, lane, most),
      handle: async (step: Step) => void (await end(step)),
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

  /** Runs a step. Never rejects. */
  async function end(step: Step): Promise<Answer | null> {
    try {
      return await run(ctx, step, stopping.signal);
    } catch (error) {
      log.error({ error }, "The end of a step could not be stored; its lease ends by itself");
      return null;
    }
  }

  return {
    start(step) {
      const ended = end(step).finally(() => started.delete(ended));
      started.add(ended);
      // The commonest end, a provision that is done, leaves no step behind.
      void ended.then((answer) => (step.kind === "provision" && answer?.status === 200) || nudge());
      return ended;
    },
    runDue: (lane, signal) => pools[lane].fill(signal),
    // A run may have ended while the steps waited for grants, with all that was due still waiting.
    nextInSeconds: async (lane) => (grantsFirst.mustWait() ? 0 : nextStepInSeconds(db, lane)),
    async findLate() {
      const expired = await expireSteps(db);
      for (const uuid of expired)
        log.error(
          { alarm: "provision_failed", uuid },
          "A provision was not completed in 11 hours and is given up",
        );
      const { woken, next } = await wakeSteps(db, lookedUpTo);
      lookedUpTo = next;
      const unanswered = await findUnansweredProvisions(db);
      for (const uuid of unanswered) await writeStepOf(ctx, uuid);
      if (woken + expired.length + unanswered.length > 0) nudge();
    },
    async settled() {
      const limit = setTimeout(() => stopping.abort(new Stopped()), STOP_PATIENCE_MS);
      await Promise.all([pools.vendor.settled(), pools.platform.settled(), ...started]);
      clearTimeout(limit);
      if (stopping.signal.aborted) stopping = new AbortController();
    },
  };
}

/** Runs one claimed step under its lease: its function settles it, or it is put off. Rejects if that cannot be stored. */
async function run(ctx: Context, step: Step, cut: AbortSignal): Promise<Answer | null> {
  if (isUnwanted(step)) return endUnwanted(ctx, step);
  try {
    return await holding(ctx, step, cut, (signal) => KINDS[step.kind](ctx, step, signal));
  } catch (error) {
    if (step.kind === "provision" && step.lease === FIRST_LEASE) await writeStepOf(ctx, step.resource.uuid);
    await putOff(ctx, step, error);
    return null;
  }
}

/**
 * Whether only a clean-up is still wanted: the resource has ended. Or its provision is done: another process, of which
 * this step's writer did not know, came first.
 */
function isUnwanted({ kind, resource: { state } }: Step): boolean {
  if (kind === "provision" && state === "provisioned") return true;
  return kind !== "clean_up" && !canBe("change_plan", state);
}

/**
 * Ends a step that was written by a process that did not see the resource's end. That of a provision that failed becomes
 * a clean-up, as it may have been made in part.
 */
async function endUnwanted({ db }: Context, step: Step): Promise<null> {
  const isBeingMade = step.kind === "provision" || step.kind === "finish";
  if (step.resource.state === "failed" && isBeingMade) await cleanUpAfterStep(db, step);
  else await finishStep(db, step);
  return null;
}
