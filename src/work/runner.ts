import type { Context } from "../context.ts";
import { isDatabaseUnreachable, isHeldUp, mayConcernOne } from "../database/database.ts";
import { chainOf, messageOf, mayQuote, storable } from "../errors.ts";
import { NoToken, PlatformRefused, RateLimited, TransportError, UnreadableAnswer } from "../platform/call.ts";
import { nextTryInSeconds, type Backoff } from "../pace.ts";
import type { Answer } from "../resources/answers.ts";
import { isAlive } from "../resources/states.ts";
import { untilCut } from "../within.ts";
import { announce, discover, reportFailure } from "./platform-steps.ts";
import {
  ALARM_AFTER_ATTEMPTS,
  claimSteps,
  CONCURRENCY,
  expireSteps,
  findUnansweredProvisions,
  endStep,
  holdStep,
  nextStepInSeconds,
  putOffStep,
  wakeSteps,
} from "./queue.ts";
import {
  eachLane,
  FIRST_LEASE,
  HOLD_EVERY_MS,
  isAnnouncing,
  LONGEST_STEP_MS,
  NOTICED_MS,
  type Step,
  type StepKind,
  type StepRunner,
} from "./step.ts";
import { callVendor, cleanUp, retire, secretsOf, StillUnderWay, writeStepOf } from "./vendor-steps.ts";
import { createWorkerPool } from "./worker-pool.ts";

/** For the vendor's own code, and calls to the platform made on its behalf. */
const AGAIN: Backoff = { seconds: [1, 2, 5, 10, 30, 60, 120, 300], spread: 0.25 };

/** Each settles its step, and returns the answer if that decided one. Throwing means: not yet, try again. */
type Run = (ctx: Context, step: Step, signal: AbortSignal) => Promise<Answer | null | void>;
const KINDS: Readonly<Record<StepKind, Run>> = {
  provision: callVendor,
  finish: callVendor,
  change_plan: callVendor,
  clean_up: cleanUp,
  announce,
  discover,
  report_failure: reportFailure,
  rotate: (ctx, step, signal) => (isAnnouncing(step) ? announce(ctx, step) : callVendor(ctx, step, signal)),
  retire,
};

/** Fewer: nobody waits for them. */
const ROTATIONS_AT_ONCE = 4;

/** Of the 25 seconds in which a process stops. */
const STOP_PATIENCE_MS = 10_000;

/**
 * A grant has minutes, nearly every step hours: while more grants than these are exchanged, no step is begun. Not for
 * longer than this, as long as some are left: a grant itself waits for the step of an unanswered provision. Without it a
 * burst of provisions has its tokens at three fifths of the speed.
 */
const FEW_GRANTS = 16;
const GRANTS_FIRST_MS = 60_000;

export function createStepRunner(ctx: Context): StepRunner {
  const { db, log } = ctx;
  const started = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  const claims = patientClaims(db);

  const pools = eachLane((lane) =>
    createWorkerPool({
      claim: (most) => claims.take(() => claimSteps(db, lane, most)),
      handle: (step: Step) => runSafely(step).then(() => nudgeLanes(ctx)),
      places: () => (grantsGoFirst() ? 0 : lane === "rotation" ? ROTATIONS_AT_ONCE : CONCURRENCY),
    }),
  );

  let crowdedSinceMs: number | null = null;
  function grantsGoFirst(): boolean {
    const grants = ctx.exchanges.underWay();
    if (grants === 0) crowdedSinceMs = null;
    if (grants <= FEW_GRANTS) return false;
    crowdedSinceMs ??= performance.now();
    return performance.now() - crowdedSinceMs < GRANTS_FIRST_MS;
  }

  /** Never rejects. */
  async function runSafely(step: Step): Promise<Answer | null> {
    try {
      const { kind, traceparent: parent, resource } = step;
      return await ctx.trace.inSpan(`step ${kind}`, { parent, uuid: resource.uuid }, () =>
        run(ctx, step, stopping.signal),
      );
    } catch (error) {
      log.error({ error }, "The end of a step could not be stored; its lease ends by itself");
      return null;
    }
  }

  return {
    start(step) {
      const ended = runSafely(step).finally(() => started.delete(ended));
      started.add(ended);
      // The commonest end, a provision that is done, leaves no step behind.
      void ended.then((answer) => (step.kind === "provision" && answer?.status === 200) || nudgeLanes(ctx));
      return ended;
    },
    noteOutage: claims.noteOutage,
    patiently: claims.take,
    restSeconds: claims.restSeconds,
    runDue: (lane, signal) => pools[lane].fill(signal),
    // A run may have ended while it waited for the grants.
    nextInSeconds: async (lane) =>
      grantsGoFirst() ? 0 : claims.restSeconds() || nextStepInSeconds(ctx, lane),
    async settled() {
      const why = () => (ctx.hasCrashed ? "Its process crashed." : "The process stops; another one goes on.");
      const end = () => stopping.abort(new Error(why()));
      const limit = setTimeout(end, STOP_PATIENCE_MS);
      await Promise.all([...Object.values(pools).map((pool) => pool.settled()), ...started]);
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

/** The next step may be in another lane. */
export function nudgeLanes(ctx: Pick<Context, "nudge">): void {
  ctx.nudge("run-steps");
  ctx.nudge("run-vendor-steps");
  ctx.nudge("run-rotations");
}

/** Finds what no due time brings up: provisions that took too long, waiting steps that were not woken, orphans. */
export async function findLateSteps(ctx: Context): Promise<void> {
  const { log } = ctx;
  const unanswered = await findUnansweredProvisions(ctx.db);
  for (const { uuid } of unanswered)
    await writeStepOf(ctx, uuid).catch((error: unknown) => {
      if (!isHeldUp(error)) throw error;
      log.warn({ uuid, error }, "An unanswered provision is locked; the next tick takes it up");
    });
  const expired = await expireSteps(ctx.db);
  for (const { uuid } of expired)
    log.error(
      { alarm: "provision_failed", uuid },
      "A provision was not completed in 11 hours and is given up",
    );
  const woken = await wakeSteps(ctx.db);
  if (woken + expired.length + unanswered.length > 0) nudgeLanes(ctx);
}

/** Runs one claimed step: its function settles it, or it is put off. Rejects if that cannot be stored. */
async function run(ctx: Context, step: Step, cut: AbortSignal): Promise<Answer | null> {
  if (isUnwanted(step)) {
    await endStep(ctx.db, step);
    return null;
  }
  try {
    cut.throwIfAborted();
    // If the process stood still meanwhile, another one may have taken it.
    const isOld = Date.now() - (step.claimedAtMs ?? Infinity) > NOTICED_MS;
    if (isOld && !(await holdStep(ctx.db, step))) return null;
    const late = () => new Error("The step took too long.");
    const hold = () => holdOrWrite(ctx, step);
    const limits = { ms: LONGEST_STEP_MS, late, cuts: [cut], lease: { hold, everyMs: HOLD_EVERY_MS } };
    return (await untilCut(limits, (signal) => KINDS[step.kind](ctx, step, signal))) ?? null;
  } catch (error) {
    await putOff(
      ctx,
      step,
      mayQuote(error, secretsOf(ctx.vault, step.resource)),
      cut.aborted && !ctx.hasCrashed,
    );
    return null;
  }
}

/** Extends the lease. A provision that outlasts its request, and has no step yet, gets one. */
export async function holdOrWrite(ctx: Pick<Context, "db">, step: Step): Promise<boolean> {
  if (await holdStep(ctx.db, step)) return true;
  if (step.kind !== "provision" || step.lease !== FIRST_LEASE) return false;
  // Nothing, if it is answered, or gone.
  await writeStepOf(ctx, step.resource.uuid);
  return holdStep(ctx.db, step);
}

/** Its writer did not see the resource's end, or did not know that its provision is done. */
function isUnwanted({ kind, resource: { state } }: Step): boolean {
  if (kind === "provision" && state === "provisioned") return true;
  return kind !== "clean_up" && !isAlive(state);
}

/**
 * Puts a step off whose work threw something, and logs why. `isCut`: the process stops, and nothing is wrong with the
 * work. Rejects if that cannot be stored.
 */
async function putOff(ctx: Context, step: Step, error: unknown, isCut: boolean): Promise<void> {
  const { attempts, kind, requestId } = step;
  const about = { uuid: step.resource.uuid, requestId, kind };
  const words = storable(ctx.scrubber.scrub(messageOf(error)));
  if (error instanceof StillUnderWay) {
    const ended = await putOffStep(ctx.db, step, error.againInSeconds * ctx.pace.pauses, { said: words });
    const alarm = { alarm: "step_stuck", ...about, words };
    if (ended?.isLate && !step.detail.isLate)
      ctx.log.error(alarm, "The service is not done with a step after 11 hours");
    return;
  }
  if (!isCut) ctx.trace.failed(error);
  const againInSeconds = pauseAfter(ctx, step, error);
  const line = { ...about, attempts, againInSeconds, error: error ?? words };
  const isOfPlatform = chainOf(error).some((each) => PLATFORMS.some((type) => each instanceof type));
  // Logged even if it cannot be stored: the next try is no longer the twelfth.
  let isOurs = true;
  try {
    if (kind === "provision" && step.lease === FIRST_LEASE) await writeStepOf(ctx, step.resource.uuid);
    isOurs =
      (await putOffStep(ctx.db, step, againInSeconds, isCut ? {} : { error: words, isOfPlatform })) !== null;
  } finally {
    const isQuarantined = error instanceof NoToken && error.id === "quarantined";
    if (isOurs && !isCut && !isQuarantined && attempts % ALARM_AFTER_ATTEMPTS === 0)
      ctx.log.error({ alarm: "step_stuck", ...line }, "A step fails again and again; it goes on");
    else if (isOurs) ctx.log.warn(line, "A step will be tried again");
  }
}

/** A function that fails by these has met the platform, and is not at fault. */
const PLATFORMS = [PlatformRefused, TransportError, UnreadableAnswer, RateLimited, NoToken];

/** Seconds until the next try: not before the platform, or our own limit on the resource's calls, allows it. */
function pauseAfter({ pace }: Context, { attempts }: Step, error: unknown): number {
  const isToWait = error instanceof PlatformRefused || error instanceof RateLimited;
  const restSeconds = isToWait ? (error.retryAfterMs ?? 0) / 1_000 : 0;
  return Math.round((nextTryInSeconds(AGAIN, attempts) * pace.pauses + restSeconds) * 1_000) / 1_000;
}
