import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Scrubber } from "../logging/scrubber.ts";
import { mayQuote } from "../redact.ts";
import type { Pace } from "../pace.ts";
import { PlatformRefused, RateLimited } from "../platform/api-errors.ts";
import type { Vault } from "../vault/vault.ts";
import { nextTryInSeconds, STEP_AGAIN } from "../credentials/backoff.ts";
import { secretsOf } from "../resources/secrets-of.ts";
import { StillUnderWay } from "./attempt.ts";
import { Stopped } from "./lease-keeper.ts";
import type { StepQueue } from "./queue.ts";
import type { Step } from "./step.ts";

/** After this many failed attempts an alarm is raised. */
export const ALARM_AFTER_ATTEMPTS = 12;

/** Puts a step off whose work threw `error`, and logs why. Rejects if that cannot be stored. */
export type PutOff = (step: Step, error: unknown) => Promise<void>;

export function createPutOff({
  queue,
  vault,
  scrubber,
  log,
  pace,
}: {
  queue: StepQueue;
  vault: Vault;
  scrubber: Scrubber;
  log: Log;
  pace: Pace;
}): PutOff {
  /** PostgreSQL takes no NUL in a text. */
  const inWords = (error: unknown) => scrubber.scrub(messageOf(error)).replaceAll("\0", "").slice(0, 500);

  /** The vendor's service is not done: that is no failure, but after 11 hours an alarm. */
  async function lookAgain(step: Step, notYet: StillUnderWay): Promise<void> {
    const againInSeconds = notYet.againInSeconds * pace.pauses;
    const about = { ...named(step), words: inWords(notYet) };
    log.debug({ ...about, againInSeconds }, "The service is not done with a step yet");
    if (!(await queue.lookAgain(step, againInSeconds, about.words))) return;
    log.error({ alarm: "step_stuck", ...about }, "The service is not done with a step after 11 hours");
    return queue.markLate(step);
  }

  async function tryAgain(step: Step, error: unknown): Promise<void> {
    const { attempts } = step;
    const hasFailed = !(error instanceof Stopped);
    const words = hasFailed ? inWords(error) : null;
    const againInSeconds = nextTryInSeconds(STEP_AGAIN, attempts) * pace.pauses + restSeconds(error);
    const inSeconds = Math.round(againInSeconds * 10) / 10;
    const told = { ...named(step), attempts, againInSeconds: inSeconds, error: error ?? words };
    // Logged even if it cannot be stored: the next try is no longer the twelfth, and the alarm would be lost.
    let isOurs = true;
    try {
      isOurs = await queue.putOff(step, againInSeconds, words);
    } finally {
      if (isOurs && hasFailed && attempts === ALARM_AFTER_ATTEMPTS)
        log.error({ alarm: "step_stuck", ...told }, "A step has failed twelve times and is tried again");
      else if (isOurs) log.warn(told, "A step will be tried again");
    }
  }

  return (step, thrown) => {
    const error = mayQuote(thrown, secretsOf(vault, step.resource));
    return error instanceof StillUnderWay ? lookAgain(step, error) : tryAgain(step, error);
  };
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
