import { createWorkerPool } from "../../due-work/worker-pool.ts";
import type { Log } from "../../logging/log.ts";
import type { Scrubber } from "../../logging/scrubber.ts";
import type { Pace } from "../../pace.ts";
import type { Secret } from "../../secret.ts";
import { createLeaseKeeper, type LeaseKeeper } from "./lease-keeper.ts";
import { createGivingWay } from "./giving-way.ts";
import { eachLane, type Lane, type StepKind } from "./lanes.ts";
import { createPutOff } from "./put-off.ts";
import { CONCURRENCY, type Step, type StepQueue } from "./queue.ts";
import type { Wanted } from "./wanted.ts";

/** One function per kind of step. Throwing means: not yet, try again. */
export type StepHandlers = Readonly<Record<StepKind, (step: Step, wanted: Wanted) => Promise<void>>>;

export interface StepRunner {
  /** Starts every step of a lane that is due. Returns how many it took. */
  runDue(lane: Lane, signal: AbortSignal): Promise<number>;
  /** Seconds until the next step of a lane is to be looked for; null: none is waiting. */
  nextInSeconds(lane: Lane): Promise<number | null>;
  /** Finds what no due time brings up: provisions that took too long, and waiting steps that were not woken. */
  findLate(): Promise<void>;
  /**
   * Resolves when no step of either lane is under way. Steps that still run after 10 seconds are aborted and put off.
   */
  settled(): Promise<void>;
  /** For the work of a step that a request begins: keeps its lease ({@link LeaseKeeper}). */
  holding: LeaseKeeper["holding"];
  /** Runs the rest of a step after its request was answered; if `work` fails, puts the step off. */
  inBackground(step: Step, work: Promise<void>): void;
}

/** How long running steps may go on when the process stops; it has 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

export function createStepRunner(needs: {
  queue: StepQueue;
  handlers: StepHandlers;
  /** Whether more grants are due than can be exchanged at once. */
  areGrantsQueued(): boolean;
  /** The secrets of a step's resource that an error may quote. */
  secretsOf(step: Step): readonly Secret[];
  scrubber: Scrubber;
  /** Called when a step ended, or late ones were found: another may be due soon. */
  onEnd(): void;
  log: Log;
  pace: Pace;
}): StepRunner {
  const { queue, handlers, areGrantsQueued, secretsOf, scrubber, onEnd, log, pace } = needs;
  const leases = createLeaseKeeper({ queue, log });
  const putOff = createPutOff({ queue, secretsOf, scrubber, log, pace });
  const mustGiveWay = eachLane(() => createGivingWay(areGrantsQueued));
  const pools = eachLane(poolOf);
  const inBackground = new Set<Promise<void>>();

  /** The flow of one claimed step: its handler runs under its lease, and settles it or throws. */
  async function run(step: Step): Promise<void> {
    if (isUnwanted(step)) return endUnwanted(queue, step);
    try {
      await leases.holding(step, (wanted) => handlers[step.kind](step, wanted));
    } catch (error) {
      await putOff(step, error);
    }
  }

  function poolOf(lane: Lane) {
    return createWorkerPool({
      claim: (most) => queue.claim(lane, most),
      handle: (step: Step) => run(step).catch(tellLost),
      concurrency: CONCURRENCY,
      forNow: () => (mustGiveWay[lane]() ? 0 : CONCURRENCY),
      onEnd,
    });
  }

  function tellLost(error: unknown): void {
    log.error({ error }, "The end of a step could not be stored; its lease ends by itself");
  }

  return {
    holding: leases.holding,
    inBackground(step, work) {
      const rest = work
        .catch((error: unknown) => putOff(step, error))
        .catch(tellLost)
        .finally(() => {
          inBackground.delete(rest);
          onEnd();
        });
      inBackground.add(rest);
    },
    runDue: (lane, signal) => pools[lane].fill(signal),
    // A run may have ended while the lane gave way, with all that was due still waiting.
    nextInSeconds: async (lane) => (mustGiveWay[lane]() ? 0 : queue.nextInSeconds(lane)),
    async findLate() {
      const expired = await queue.expire();
      for (const uuid of expired) {
        log.error(
          { alarm: "provision_failed", uuid },
          "A provision was not completed in 11 hours and is given up",
        );
      }
      if ((await queue.wake()) + expired.length > 0) onEnd();
    },
    async settled() {
      const limit = setTimeout(leases.cutOff, STOP_PATIENCE_MS);
      await Promise.all([pools.vendor.settled(), pools.platform.settled(), ...inBackground]);
      clearTimeout(limit);
      leases.resume();
    },
  };
}

/** Whether a step was written by a process that did not see the resource's end: then only the clean-up is wanted. */
function isUnwanted({ kind, resource: { state } }: Step): boolean {
  return (state === "deprovisioned" || state === "failed") && kind !== "clean_up";
}

/**
 * Ends an unwanted step. The step of a provision that failed meanwhile becomes a clean-up, as it may have been made in
 * part.
 */
async function endUnwanted(queue: StepQueue, step: Step): Promise<void> {
  const isBeingMade = step.kind === "provision" || step.kind === "finish";
  if (step.resource.state === "failed" && isBeingMade) await queue.cleanUpAfter(step);
  else await queue.finish(step);
}
