import type { Context } from "../context.ts";
import { nextTryInSeconds, STEP_AGAIN } from "../credentials/verdict.ts";
import { messageOf } from "../errors.ts";
import { mayQuote } from "../redact.ts";
import { PlatformRefused, RateLimited } from "../platform/errors.ts";
import { Stopped } from "./lease.ts";
import { lookAgainAtStep, putOffStep } from "./queue.ts";
import type { Step } from "./step.ts";
import { secretsOf, StillUnderWay } from "./vendor-call.ts";

/** After this many failed attempts an alarm is raised. */
export const ALARM_AFTER_ATTEMPTS = 12;

/** Puts a step off whose work threw something, and logs why. Rejects if that cannot be stored. */
export async function putOff(ctx: Context, step: Step, thrown: unknown): Promise<void> {
  const error = mayQuote(thrown, secretsOf(ctx.vault, step.resource));
  return error instanceof StillUnderWay ? lookAgain(ctx, step, error) : tryAgain(ctx, step, error);
}

/** The vendor's service is not done: that is no failure, but after 11 hours an alarm. */
async function lookAgain(ctx: Context, step: Step, notYet: StillUnderWay): Promise<void> {
  const againInSeconds = notYet.againInSeconds * ctx.pace.pauses;
  const about = { ...named(step), words: inWords(ctx, notYet) };
  ctx.log.debug({ ...about, againInSeconds }, "The service is not done with a step yet");
  if (await lookAgainAtStep(ctx.db, step, againInSeconds, about.words))
    ctx.log.error({ alarm: "step_stuck", ...about }, "The service is not done with a step after 11 hours");
}

async function tryAgain(ctx: Context, step: Step, error: unknown): Promise<void> {
  const { attempts } = step;
  const hasFailed = !(error instanceof Stopped);
  const words = hasFailed ? inWords(ctx, error) : null;
  const againInSeconds = nextTryInSeconds(STEP_AGAIN, attempts) * ctx.pace.pauses + restSeconds(error);
  const inSeconds = Math.round(againInSeconds * 10) / 10;
  const about = { ...named(step), attempts, againInSeconds: inSeconds, error: error ?? words };
  // Logged even if it cannot be stored: the next try is no longer the twelfth, and the alarm would be lost.
  let isOurs = true;
  try {
    isOurs = await putOffStep(ctx.db, step, againInSeconds, words);
  } finally {
    if (isOurs && hasFailed && attempts === ALARM_AFTER_ATTEMPTS)
      ctx.log.error({ alarm: "step_stuck", ...about }, "A step has failed twelve times and is tried again");
    else if (isOurs) ctx.log.warn(about, "A step will be tried again");
  }
}

/** PostgreSQL takes no NUL in a text. */
function inWords({ scrubber }: Context, error: unknown): string {
  return scrubber.scrub(messageOf(error)).replaceAll("\0", "").slice(0, 500);
}

/** For the log. */
function named({ kind, requestId, resource: { uuid } }: Step) {
  return { uuid, requestId, kind };
}

/**
 * How many seconds the platform asks us to wait, or our own limit on the resource's calls does; an earlier try is in
 * vain.
 */
function restSeconds(error: unknown): number {
  const isToWait = error instanceof PlatformRefused || error instanceof RateLimited;
  return isToWait && error.retryAfterMs !== null ? error.retryAfterMs / 1_000 : 0;
}
