import { messageOf } from "../../errors.ts";
import type { Log } from "../../logging/log.ts";
import { PlatformRefused, RateLimited } from "../../platform/api-errors.ts";
import type { Scrubber } from "../../logging/scrubber.ts";
import type { Secret } from "../../secret.ts";
import { nextTryInSeconds, STEP_AGAIN } from "../credentials/backoff.ts";
import { createWorkerPool } from "../../due-work/worker-pool.ts";
import { StillUnderWay } from "./attempt.ts";
import {
  CONCURRENCY,
  STEP_LEASE_SECONDS,
  type Lane,
  type Step,
  type StepKind,
  type StepQueue,
} from "./queue.ts";

/** One function per kind of step. Throwing means: not yet, try again. */
export type StepHandlers = Readonly<Record<StepKind, (step: Step, signal: AbortSignal) => Promise<void>>>;

export interface StepRunner {
  /** Starts every step of a lane that is due. Returns how many it took. */
  runDue(lane: Lane, signal: AbortSignal): Promise<number>;
  /** Finds what no due time brings up: provisions that took too long, and waiting steps that were not woken. */
  findLate(): Promise<void>;
  /**
   * Resolves when no step of either lane is under way. Steps that still run after 10 seconds are aborted and put off.
   */
  settled(): Promise<void>;
  /**
   * Keeps a step's lease while `work` runs, and aborts `work` when the lease is lost (the resource was deprovisioned,
   * or this process was overtaken) or after 10 minutes.
   */
  holding<Result>(step: Step, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** While `work` runs, hides the secrets of the step's resource from every log line of this process. */
  hiding<Result>(step: Step, work: () => Promise<Result>): Promise<Result>;
  /** Runs the rest of a step after its request was answered; if `work` fails, puts the step off. Hides its secrets. */
  inBackground(step: Step, work: Promise<void>): void;
}

/**
 * While grants are backlogged (for {@link LONGEST_WAY_MS} at most), each lane runs only this many steps at once: grants
 * are worth nothing after five minutes, and nearly every step may wait for hours.
 */
const MOST_BESIDE_GRANTS = 1;
/**
 * Steps give way to grants for this long at most: the backlog may last, and the step of a provision whose process died
 * before it answered holds back a grant itself.
 */
const LONGEST_WAY_MS = 60_000;
/** The longest one step may run. */
const LONGEST_STEP_MS = 10 * 60_000;
/** How long running steps may go on when the process stops; it has 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;
/** After this many failed attempts an alarm is raised. */
export const ALARM_AFTER_ATTEMPTS = 12;

export function createStepRunner(needs: {
  queue: StepQueue;
  handlers: StepHandlers;
  /** For how many ms more grants have been due than can be exchanged at once; 0: not now. */
  grantBacklogAgeMs(): number;
  /** The secrets of a step's resource that a vendor's error may quote. */
  secretsOf(step: Step): readonly Secret[];
  scrubber: Scrubber;
  /** Called when a step ended, or late ones were found: another may be due soon. */
  onEnd(): void;
  log: Log;
}): StepRunner {
  const { queue, handlers, grantBacklogAgeMs, secretsOf, scrubber, onEnd, log } = needs;

  const underWay = new Set<AbortController>();
  /** Set when a stop has waited long enough: no step is begun any more. */
  let isOver = false;

  async function holding<Result>(
    step: Step,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (isOver) throw new Stopped();
    const wanted = new AbortController();
    underWay.add(wanted);
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
      underWay.delete(wanted);
      clearInterval(beat);
      clearTimeout(limit);
    }
  }

  async function putOff(step: Step, error: unknown): Promise<void> {
    const { kind, attempts, requestId, resource } = step;
    const about = { uuid: resource.uuid, requestId, kind };
    // PostgreSQL takes no NUL in a text.
    const words = scrubber.scrub(messageOf(error)).replaceAll("\0", "").slice(0, 500);
    if (error instanceof StillUnderWay) {
      const { againInSeconds } = error;
      log.debug({ ...about, againInSeconds, words }, "The service is not done with a step yet");
      if (!(await queue.lookAgain(step, againInSeconds, words))) return;
      log.error(
        { alarm: "step_stuck", ...about, words },
        "The service is not done with a step after 11 hours",
      );
      return queue.markLate(step);
    }
    const hasFailed = !(error instanceof Stopped);
    const againInSeconds = nextTryInSeconds(STEP_AGAIN, attempts) + restSeconds(error);
    const told = { ...about, attempts, againInSeconds: Math.round(againInSeconds * 10) / 10, error };
    // Logged even if it cannot be stored: the next try is no longer the twelfth, and the alarm would be lost.
    let isOurs = true;
    try {
      isOurs = await queue.putOff(step, againInSeconds, hasFailed ? words : null);
    } finally {
      if (isOurs && hasFailed && attempts === ALARM_AFTER_ATTEMPTS)
        log.error({ alarm: "step_stuck", ...told }, "A step has failed twelve times and is tried again");
      else if (isOurs) log.warn(told, "A step will be tried again");
    }
  }

  async function hiding<Result>(step: Step, work: () => Promise<Result>): Promise<Result> {
    const unhide = scrubber.hide(...secretsOf(step));
    try {
      return await work();
    } finally {
      unhide();
    }
  }

  /**
   * Ends an unwanted step. The step of a provision that failed meanwhile becomes a clean-up, as it may have been made
   * in part.
   */
  async function end(step: Step): Promise<void> {
    const isBeingMade = step.kind === "provision" || step.kind === "finish";
    if (step.resource.state === "failed" && isBeingMade) await queue.cleanUpAfter(step);
    else await queue.finish(step);
  }

  async function run(step: Step): Promise<void> {
    if (isUnwanted(step)) return end(step);
    await hiding(step, async () => {
      try {
        await holding(step, (signal) => handlers[step.kind](step, signal));
      } catch (error) {
        await putOff(step, error);
      }
    });
  }

  const tellLost = (error: unknown) =>
    log.error({ error }, "The end of a step could not be stored; its lease ends by itself");

  function mustGiveWay(): boolean {
    const ageMs = grantBacklogAgeMs();
    return ageMs > 0 && ageMs < LONGEST_WAY_MS;
  }

  const inBackground = new Set<Promise<void>>();
  const poolOf = (lane: Lane) =>
    createWorkerPool({
      claim: (most) => queue.claim(lane, most),
      handle: (step: Step) => run(step).catch(tellLost),
      concurrency: CONCURRENCY,
      forNow: () => (mustGiveWay() ? MOST_BESIDE_GRANTS : CONCURRENCY),
      onEnd,
    });
  const pools = { vendor: poolOf("vendor"), platform: poolOf("platform") };

  return {
    ...{ holding, hiding },
    inBackground(step, work) {
      const end = hiding(step, () => work.catch((error: unknown) => putOff(step, error)))
        .catch(tellLost)
        .finally(() => {
          inBackground.delete(end);
          onEnd();
        });
      inBackground.add(end);
    },
    async settled() {
      const limit = setTimeout(() => {
        isOver = true;
        for (const wanted of underWay) wanted.abort(new Stopped());
      }, STOP_PATIENCE_MS);
      await Promise.all([pools.vendor.settled(), pools.platform.settled(), ...inBackground]);
      clearTimeout(limit);
      isOver = false;
    },
    runDue: (lane, signal) => pools[lane].fill(signal),
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
  };
}

/**
 * How many seconds the platform asks us to wait, or our own limit on the resource's calls does; an earlier try is in
 * vain.
 */
function restSeconds(error: unknown): number {
  const isToWait = error instanceof PlatformRefused || error instanceof RateLimited;
  return isToWait && error.retryAfterMs !== null ? error.retryAfterMs / 1_000 : 0;
}

/** Thrown into work that is cut off because the process stops; nothing is wrong with the work. */
class Stopped extends Error {
  constructor() {
    super("The process stops; another one goes on.");
  }
}

/** Whether a step was written by a process that did not see the resource's end: then only the clean-up is wanted. */
function isUnwanted({ kind, resource: { state } }: Step): boolean {
  return (state === "deprovisioned" || state === "failed") && kind !== "clean_up";
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
}
