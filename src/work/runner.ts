import type { Context } from "../context.ts";
import { isDatabaseUnreachable, mayConcernOne } from "../database/database.ts";
import { messageOf, storable } from "../errors.ts";
import { nextTryInSeconds, type Backoff } from "../pace.ts";
import { untilCut } from "../within.ts";
import { HOLD_EVERY_MS, NOTICED_MS } from "./lease.ts";
import {
  ALARM_AFTER_ATTEMPTS,
  claimSteps,
  CONCURRENCY,
  endStep,
  holdStep,
  nextStepInSeconds,
  putOffStep,
  type Lane,
  type StepRow,
} from "./queue.ts";
import type { ClaimedStep, StepRunner } from "./step.ts";
import { createWorkerPool } from "./worker-pool.ts";

// The only place that runs steps, for requests and for the jobs. What there is to do is a table, which it is given.

/** For the vendor's own code, and calls to the platform made on its behalf. */
const AGAIN: Backoff = { seconds: [1, 2, 5, 10, 30, 60, 120, 300], spread: 0.25 };

/** The longest one step may run: a call of ten minutes, and as long to store its result. */
export const LONGEST_STEP_MS = 20 * 60_000;

/** Of the 25 seconds in which a process stops. */
const STOP_PATIENCE_MS = 10_000;

/**
 * What there is to do. `Step`: a claimed step as the functions get it, made of a claimed `Row`; `Answer`: what a run may
 * decide, for a caller that waits for it.
 */
export interface Work<LaneName extends string, Row, Step extends ClaimedStep, Answer> {
  lanes: Readonly<Record<LaneName, { lane: Lane<Row>; atOnce?: number }>>;
  stepOf(row: Row & StepRow): Step;
  /** The function of each kind. It settles its step, and returns the answer if that decided one; it throws to be retried. */
  kinds: Readonly<Record<Step["kind"], Run<Step, Answer>>>;
  /** False: the step's writer did not see that its work was no longer wanted; the step ends. */
  isWanted(step: Step): boolean;
  /** An error that a function threw, without the secrets that it knew. */
  quotable(ctx: Context, step: Step, error: unknown): unknown;
  judge(error: unknown): Judgement;
  /** Whether steps wait while something more urgent is done. */
  isToWait(ctx: Context): boolean;
  /** Called when a step has ended or is put off: the next one may be in any lane. */
  ended(ctx: Context, step: Step, answer: Answer | null): void;
}

/** What an error says of the function that threw it. */
export interface Judgement {
  /** The function failed by a call to the platform, and is not at fault itself. */
  isOfPlatform: boolean;
  /** The error lasts until an operator acts, and has an alarm of its own. */
  hasOwnAlarm: boolean;
  /** No earlier does the next try make sense, beside the usual pause. */
  restMs: number;
}

export type Run<Step, Answer = never> = (
  ctx: Context,
  step: Step,
  signal: AbortSignal,
) => Promise<Answer | null | void>;

/** The work goes on, and nothing is wrong: the step is run again in `againInSeconds`. */
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
  const claims = patientClaims(db);

  const entries = Object.entries(work.lanes) as [LaneName, { lane: Lane<Row>; atOnce?: number }][];
  const pools = Object.fromEntries(
    entries.map(([name, { lane, atOnce = CONCURRENCY }]) => [
      name,
      createWorkerPool({
        claim: (most) => claims.take(async () => (await claimSteps(db, lane, most)).map(work.stepOf)),
        handle: async (step: Step) => void (await runSafely(step)),
        places: () => (work.isToWait(ctx) ? 0 : atOnce),
      }),
    ]),
  ) as Record<LaneName, ReturnType<typeof createWorkerPool<Step>>>;

  /** Never rejects. */
  async function runSafely(step: Step): Promise<Answer | null> {
    const { kind, traceparent: parent, uuid } = step;
    const answer = await ctx.trace
      .inSpan(`step ${kind}`, { parent, uuid }, () => run(ctx, work, step, stopping.signal))
      .catch((error: unknown) => {
        log.error({ uuid, kind, error }, "The end of a step could not be stored; its lease ends by itself");
        return null;
      });
    work.ended(ctx, step, answer);
    return answer;
  }

  return {
    start(step) {
      const ended = runSafely(step).finally(() => started.delete(ended));
      started.add(ended);
      return ended;
    },
    noteOutage: claims.noteOutage,
    patiently: claims.take,
    restSeconds: claims.restSeconds,
    runDue: (lane, signal) => pools[lane].fill(signal),
    // A run may have ended while it waited for what is more urgent.
    nextInSeconds: async (lane) =>
      work.isToWait(ctx) ? 0 : claims.restSeconds() || nextStepInSeconds(db, work.lanes[lane].lane),
    async settled() {
      const why = () => (ctx.hasCrashed ? "Its process crashed." : "The process stops; another one goes on.");
      const end = () => stopping.abort(new Error(why()));
      const limit = setTimeout(end, STOP_PATIENCE_MS);
      await Promise.all([...entries.map(([name]) => pools[name].settled()), ...started]);
      clearTimeout(limit);
    },
  };
}

/** A lease that lapsed in an outage may be that of a living call: its process extends it once the database is back. */
function patientClaims(db: Context["db"]) {
  let wasUnreachable = false;
  let restUntilMs = 0;
  const restSeconds = () => Math.max(0, restUntilMs - performance.now()) / 1_000;
  return {
    restSeconds,
    noteOutage: () => void (wasUnreachable = true),
    async take<Row>(claim: () => Promise<Row[]>): Promise<Row[]> {
      if (wasUnreachable) {
        await db.ping();
        wasUnreachable = false;
        restUntilMs = performance.now() + NOTICED_MS;
      }
      if (restSeconds() > 0) return [];
      try {
        return await claim();
      } catch (error) {
        wasUnreachable ||= isDatabaseUnreachable(error) && !mayConcernOne(error);
        throw error;
      }
    },
  };
}

type AnyWork<Step extends ClaimedStep, Answer> = Pick<
  Work<never, never, Step, Answer>,
  "kinds" | "isWanted" | "quotable" | "judge"
>;

/** Runs one claimed step: its function settles it, or it is put off. Rejects if that cannot be stored. */
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
    // A process that stood still since the claim may have lost the step to another one.
    const isOld = Date.now() - (step.claimedAtMs ?? Infinity) > NOTICED_MS;
    if (isOld && !(await holdStep(ctx.db, step))) return null;
    const late = () => new Error("The step took too long.");
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
 * Puts a step off whose work threw something, and logs why. `isCut`: the process stops, and nothing is wrong with the
 * work. Rejects if that cannot be stored.
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
      ctx.log.error(alarm, "The service is not done with a step after 11 hours");
    return;
  }
  if (!isCut) ctx.trace.failed(error);
  const { isOfPlatform, hasOwnAlarm, restMs } = work.judge(error);
  const pauseMs = nextTryInSeconds(AGAIN, attempts) * ctx.pace.pauses * 1_000;
  const againInSeconds = Math.round(pauseMs + restMs) / 1_000;
  const line = { ...about, attempts, againInSeconds, error: error ?? words };
  const how = isCut ? {} : { error: words, isOfPlatform };
  // Logged even if it cannot be stored: the next try is no longer the twelfth.
  let isOurs = true;
  try {
    isOurs = (await putOffStep(ctx.db, step, againInSeconds, how)) !== null;
  } finally {
    if (isOurs && !isCut && !hasOwnAlarm && attempts % ALARM_AFTER_ATTEMPTS === 0)
      ctx.log.error({ alarm: "step_stuck", ...line }, `A step failed ${attempts} times; still retrying`);
    else if (isOurs) ctx.log.warn(line, "A step will be tried again");
  }
}
