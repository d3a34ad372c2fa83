import type { Log } from "../logging/log.ts";
import { STEP_LEASE_SECONDS, type StepQueue } from "./queue.ts";
import type { Step } from "./step.ts";

/** The longest one step may run. */
export const LONGEST_STEP_MS = 10 * 60_000;

/** Thrown into work that is cut off because the process stops; nothing is wrong with the work. */
export class Stopped extends Error {
  constructor() {
    super("The process stops; another one goes on.");
  }
}

/** Keeps the leases of the steps that this process runs, and aborts their work where it must end. */
export interface LeaseKeeper {
  /**
   * Keeps a step's lease while `work` runs, and aborts `work` when the lease is lost (the resource was deprovisioned,
   * or this process was overtaken) or after 10 minutes. Throws {@link Stopped} if the work is cut off, or not begun.
   */
  holding<Result>(step: Step, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Cuts off all work that runs, and begins none until `resume`. */
  cutOff(): void;
  resume(): void;
}

/**
 * Work under way, and how it is ended. A Set that is changed often keeps much of what it contained from being collected
 * early, so the work is taken out of it.
 */
interface UnderWay {
  end: ((reason: Error) => void) | null;
}

export function createLeaseKeeper({ queue, log }: { queue: StepQueue; log: Log }): LeaseKeeper {
  const underWay = new Set<UnderWay>();
  let isCutOff = false;

  function extend(step: Step, end: (reason: Error) => void): void {
    queue
      .hold(step)
      .then((isOurs) => isOurs || end(new Error("The step is no longer ours, or no longer wanted.")))
      .catch((error: unknown) =>
        log.warn({ uuid: step.resource.uuid, error }, "A step's lease could not be extended"),
      );
  }

  return {
    async holding(step, work) {
      if (isCutOff) throw new Stopped();
      const wanted = new AbortController();
      let end!: (reason: Error) => void;
      const ended = new Promise<never>((_, reject) => {
        end = (reason) => {
          wanted.abort(reason);
          reject(reason);
        };
      });
      const held: UnderWay = { end };
      // Nobody may be waiting for it yet, or any more.
      ended.catch(() => undefined);
      underWay.add(held);
      const beat = setInterval(() => extend(step, end), (STEP_LEASE_SECONDS * 1000) / 3);
      const limit = setTimeout(() => end(new Error("The step took too long.")), LONGEST_STEP_MS);
      try {
        return await Promise.race([work(wanted.signal), ended]);
      } finally {
        underWay.delete(held);
        held.end = null;
        clearInterval(beat);
        clearTimeout(limit);
      }
    },
    cutOff() {
      isCutOff = true;
      for (const { end } of underWay) end?.(new Stopped());
    },
    resume() {
      isCutOff = false;
    },
  };
}
