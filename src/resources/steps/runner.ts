import type { Log } from "../../log.ts";
import { nextTryInSeconds, STEP_AGAIN } from "../credentials/backoff.ts";
import { drain } from "../credentials/drain.ts";
import { STEP_LEASE_SECONDS, type Step, type StepKind, type StepQueue } from "./queue.ts";

/** One function per kind of step. Throwing means: not yet, try again. */
export type StepHandlers = Readonly<Record<StepKind, (step: Step, signal: AbortSignal) => Promise<void>>>;

export interface StepRunner {
  /** Runs every step that is due. Returns how many it took. */
  runDue(signal: AbortSignal): Promise<number>;
  /**
   * Keeps a step's lease while `work` runs, and aborts `work` when the lease is lost (the resource was deprovisioned, or
   * this process was overtaken) or its time is up.
   */
  holding<Result>(step: Step, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Records that a step failed, to be tried again. */
  putOff(step: Step, error: unknown): Promise<void>;
}

const CONCURRENCY = 16;
/** The longest one call of a vendor's function may take. */
const LONGEST_STEP_MS = 10 * 60_000;
/** A clean-up that fails for this long needs a person. */
const ALARM_AFTER_ATTEMPTS = 12;

export function createStepRunner({
  queue,
  handlers,
  log,
}: {
  queue: StepQueue;
  handlers: StepHandlers;
  log: Log;
}): StepRunner {
  async function holding<Result>(
    step: Step,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const wanted = new AbortController();
    const beat = setInterval(
      () => {
        queue
          .hold(step)
          .then(
            (isOurs) => isOurs || wanted.abort(new Error("The step is no longer ours, or no longer wanted.")),
          )
          .catch((error: unknown) =>
            log.warn({ uuid: step.resource.uuid, error }, "A step's lease could not be extended"),
          );
      },
      (STEP_LEASE_SECONDS * 1000) / 3,
    );
    const limit = setTimeout(() => wanted.abort(new Error("The step took too long.")), LONGEST_STEP_MS);
    try {
      return await Promise.race([work(wanted.signal), aborted(wanted.signal)]);
    } finally {
      clearInterval(beat);
      clearTimeout(limit);
    }
  }

  async function putOff(step: Step, error: unknown): Promise<void> {
    const { kind, attempts, resource } = step;
    const againInSeconds = nextTryInSeconds(STEP_AGAIN, attempts);
    const message = error instanceof Error ? error.message : String(error);
    const alarm = attempts === ALARM_AFTER_ATTEMPTS ? { alarm: "step_stuck" } : {};
    log.warn(
      { ...alarm, uuid: resource.uuid, kind, attempts, againInSeconds, error },
      "A step failed and will be tried again",
    );
    await queue.putOff(step, againInSeconds, message.slice(0, 500));
  }

  async function run(step: Step): Promise<void> {
    try {
      await holding(step, (signal) => handlers[step.kind](step, signal));
    } catch (error) {
      await putOff(step, error);
    }
  }

  return {
    holding,
    putOff,
    async runDue(signal) {
      for (const uuid of await queue.expire()) {
        log.error(
          { alarm: "provision_failed", uuid },
          "A provision was not completed in 11 hours and is given up",
        );
      }
      await queue.wake();
      return drain({
        claim: queue.claim,
        handle: (step) =>
          run(step).catch((error: unknown) =>
            log.error({ error }, "A step's end could not be stored; its lease ends by itself"),
          ),
        release: (step) => queue.putOff(step, 0, ""),
        concurrency: CONCURRENCY,
        signal,
      });
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
}
