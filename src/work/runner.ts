import type { Context } from "../context.ts";
import { isDatabaseUnreachable, mayBeOfOneStatement } from "../database/retry.ts";
import { messageOf, storable } from "../errors.ts";
import { type Backoff, nextTryInSeconds } from "../pace.ts";
import { untilCut } from "../within.ts";
import { HOLD_EVERY_MS, NOTICED_MS } from "./lease.ts";
import {
  ALARM_AFTER_ATTEMPTS,
  claimSteps,
  CONCURRENCY,
  endStep,
  holdStep,
  type Lane,
  nextStepInSeconds,
  putOffStep,
  type StepRow,
} from "./queue.ts";
import type { ClaimedStep, StepRunner } from "./step.ts";
import { createWorkerPool } from "./worker-pool.ts";

// The only place that runs steps, for requests and for jobs. The kinds of steps are passed in as a table (`Work`).

/** Pauses between the attempts of a step, which calls the vendor's code or the platform. */
const AGAIN: Backoff = { seconds: [1, 2, 5, 10, 30, 60, 120, 300], spread: 0.25 };

/** The longest one step may run: ten minutes for the vendor's call and ten to store its result. */
export const LONGEST_STEP_MS = 20 * 60_000;

/** How long running steps may continue when the process stops, which may take 25 seconds in all. */
const STOP_PATIENCE_MS = 10_000;

/**
 * The table of steps and their functions. `Step`: a claimed step as the functions get it, made from a claimed `Row`.
 * `Answer`: what a run may decide for a waiting request.
 */
export interface Work<LaneName extends string, Row, Step extends ClaimedStep, Answer> {
  lanes: Readonly<Record<LaneName, { lane: Lane<Row>; atOnce?: number }>>;
  stepOf(row: Row & StepRow): Step;
  /**
   * The function of each kind. The function settles its step and returns the answer if it decided one. A step whose
   * function throws is retried.
   */
  kinds: Readonly<Record<Step["kind"], Run<Step, Answer>>>;
  /** Returns `false` for a step that is obsolete; the step is deleted. */
  isWanted(step: Step): boolean;
  /** Removes from an error the secrets that the step's function had. */
  quotable(ctx: Context, step: Step, error: unknown): unknown;
  /** Which pause and which alarm follow from an error. */
  judge(error: unknown): Judgement;
  /** Whether no step may start because more urgent work is running. */
  isPaused(ctx: Context): boolean;
  /** Called when a step has ended or was put off. Steps of any lane may have become due. `isOfRequest`: `start` ran it. */
  ended(ctx: Context, step: Step, answer: Answer | null, isOfRequest: boolean): void;
}

/** What an error says about its cause and the next attempt. */
export interface Judgement {
  /** A call to the platform failed; the vendor's code is not the cause. */
  isOfPlatform: boolean;
  /** The error has its own alarm, and lasts until an operator acts. */
  hasOwnAlarm: boolean;
  /** Added to the usual pause before the next attempt. */
  restMs: number;
}

export type Run<Step, Answer = never> = (
  ctx: Context,
  step: Step,
  signal: AbortSignal,
) => Promise<Answer | null | void>;

/** Thrown when the vendor's service answered "later", which is not a failure. The step runs again in `againInSeconds`. */
export class StillUnderWay extends Error {
  readonly againInSeconds: number;

  constructor({ message, againInSeconds }: { message: string; againInSeconds: number }) {
    super(message);
    this.againInSeconds = againInSeconds;
  }
}

export function createStepRunner<LaneName extends string, Row, Step extends ClaimedStep, Answer>(
  ctx: Context,
  work: Work<LaneName, Row, Step, Answer>,
): StepRunner<LaneName, Step, Answer> {
  const { db, log } = ctx;
  const started = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  const claims = claimsAfterOutage(db);

  const entries = Object.entries(work.lanes) as [LaneName, { lane: Lane<Row>; atOnce?: number }][];
  const pools = Object.fromEntries(
    entries.map(([name, { lane, atOnce = CONCURRENCY }]) => [
      name,
      createWorkerPool({
        claim: (most) => claims.take(async () => (await claimSteps(db, lane, most)).map(work.stepOf)),
        handle: async (step: Step) => void (await runSafely(step, false)),
        places: () => (work.isPaused(ctx) ? 0 : atOnce),
      }),
    ]),
  ) as Record<LaneName, ReturnType<typeof createWorkerPool<Step>>>;

  async function runSafely(step: Step, isOfRequest: boolean): Promise<Answer | null> {
    const { kind, traceparent: parent, uuid } = step;
    const answer = await ctx.trace
      .inSpan(`step ${kind}`, { parent, uuid }, () => run(ctx, work, step, stopping.signal))
      .catch((error: unknown) => {
        log.error(
          { uuid, kind, error },
          "The result of a step could not be stored; the step runs again when its lease has expired",
        );
        return null;
      });
    work.ended(ctx, step, answer, isOfRequest);
    return answer;
  }

  return {
    start(step) {
      const ended = runSafely(step, true).finally(() => started.delete(ended));
      started.add(ended);
      return ended;
    },
    noteOutage: claims.noteOutage,
    claimAfterRest: claims.take,
    rests: claims.rests,
    restSeconds: claims.restSeconds,
    runDue: (lane, signal) => pools[lane].fill(signal),
    // Paused: 0, so that due steps start as soon as the pause is over.
    nextInSeconds: async (lane) =>
      work.isPaused(ctx) ? 0 : claims.restSeconds() || nextStepInSeconds(db, work.lanes[lane].lane),
    async settled() {
      const why = () =>
        ctx.hasCrashed ? "The process crashed." : "The process stopped; another process continues the step.";
      const end = () => stopping.abort(new Error(why()));
      const limit = setTimeout(end, STOP_PATIENCE_MS);
      await Promise.all([...entries.map(([name]) => pools[name].settled()), ...started]);
      clearTimeout(limit);
    },
  };
}

/**
 * Delays claims after an outage of the database. A lease that expired during the outage may belong to a running call,
 * whose process extends the lease once the database is back.
 */
function claimsAfterOutage(db: Context["db"]) {
  let wasUnreachable = false;
  let restUntilMs = 0;
  const restSeconds = () => Math.max(0, restUntilMs - performance.now()) / 1_000;
  async function rests(): Promise<boolean> {
    if (wasUnreachable) {
      await db.ping();
      wasUnreachable = false;
      restUntilMs = performance.now() + NOTICED_MS;
    }
    return restSeconds() > 0;
  }
  return {
    rests,
    restSeconds,
    noteOutage: () => void (wasUnreachable = true),
    async take<Row>(claim: () => Promise<Row[]>): Promise<Row[]> {
      if (await rests()) return [];
      try {
        return await claim();
      } catch (error) {
        wasUnreachable ||= isDatabaseUnreachable(error) && !mayBeOfOneStatement(error);
        throw error;
      }
    },
  };
}

type AnyWork<Step extends ClaimedStep, Answer> = Pick<
  Work<never, never, Step, Answer>,
  "kinds" | "isWanted" | "quotable" | "judge"
>;

/** Runs one claimed step. A step whose function throws is put off. Rejects if the outcome cannot be stored. */
async function run<Step extends ClaimedStep, Answer>(
  ctx: Context,
  work: AnyWork<Step, Answer>,
  step: Step,
  cut: AbortSignal,
): Promise<Answer | null> {
  if (!work.isWanted(step)) {
    await endStep(ctx.db, step);
    return null;
  }
  try {
    cut.throwIfAborted();
    // If this process was suspended since the claim, another process may have taken the step.
    const isOld = Date.now() - step.claimedAtMs > NOTICED_MS;
    if (isOld && !(await holdStep(ctx.db, step))) return null;
    const late = () => new Error(`The step was aborted after ${LONGEST_STEP_MS / 60_000} minutes.`);
    const lease = { hold: () => holdStep(ctx.db, step), everyMs: HOLD_EVERY_MS };
    const limits = { ms: LONGEST_STEP_MS, late, cuts: [cut], lease };
    const kind: Step["kind"] = step.kind;
    return (await untilCut(limits, (signal) => work.kinds[kind](ctx, step, signal))) ?? null;
  } catch (error) {
    await putOff(ctx, work, step, work.quotable(ctx, step, error), cut.aborted && !ctx.hasCrashed);
    return null;
  }
}

/**
 * Puts off a step whose function threw, and logs why. `isCut`: the step was aborted because the process stops, so the
 * attempt does not count. Rejects if the database cannot store it.
 */
async function putOff<Step extends ClaimedStep, Answer>(
  ctx: Context,
  work: AnyWork<Step, Answer>,
  step: Step,
  error: unknown,
  isCut: boolean,
): Promise<void> {
  const { attempts, kind, requestId, uuid } = step;
  const about = { uuid, requestId, kind };
  const words = storable(ctx.scrubber.scrub(messageOf(error)));
  if (error instanceof StillUnderWay) {
    const ended = await putOffStep(ctx.db, step, error.againInSeconds * ctx.pace.pauses, { said: words });
    const alarm = { alarm: "step_stuck", ...about, words };
    if (ended?.isLate && !(step.detail as { isLate?: boolean }).isLate)
      ctx.log.error(alarm, 'Your service has answered "later" to a step for 11 hours; still retrying');
    return;
  }
  if (!isCut) ctx.trace.failed(error);
  const { isOfPlatform, hasOwnAlarm, restMs } = work.judge(error);
  const pauseMs = nextTryInSeconds(AGAIN, attempts) * ctx.pace.pauses * 1_000;
  const againInSeconds = Math.round(pauseMs + restMs) / 1_000;
  const line = { ...about, attempts, againInSeconds, error: error ?? words };
  const how = isCut ? {} : { error: words, isOfPlatform };
  // The alarm is logged even if the database is unreachable: the next attempt has another number.
  let isOurs = true;
  try {
    isOurs = (await putOffStep(ctx.db, step, againInSeconds, how)) !== null;
  } finally {
    if (isOurs && !isCut && !hasOwnAlarm && attempts % ALARM_AFTER_ATTEMPTS === 0)
      ctx.log.error({ alarm: "step_stuck", ...line }, `Step failed ${attempts} times; still retrying`);
    else if (isOurs) ctx.log.warn(line, "Step failed or was aborted; it will be retried");
  }
}
