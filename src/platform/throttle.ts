import { type HttpAnswer, RateLimited, retryAfterMs } from "./errors.ts";

interface Clock {
  /** Monotonic. */
  nowMs: () => number;
  sleep: (ms: number) => Promise<unknown>;
}

/** Sends the calls of one resource no faster than the platform's rate limit for it allows. */
export type Throttle = (send: () => Promise<HttpAnswer>) => Promise<HttpAnswer>;

/** The platform is assumed to refill 75 calls a minute (section 4). */
const REFILL_MS = 1_000;
/** A longer wait becomes an error for the caller. */
const MOST_WAIT_MS = 10_000;
/** So many resources' limits are remembered: those that called last. */
const MOST_RESOURCES = 10_000;

/**
 * A throttle per resource that outlives its clients: every resource has its own limit (platform document, "Limits"), so
 * one cannot slow another. A call that would wait longer than 10 s rejects with `RateLimited`, and is not sent.
 */
export function createThrottles(clock: Clock): (uuid: string) => Throttle {
  const throttles = new Map<string, Throttle>();
  return (uuid) => {
    const throttle = throttles.get(uuid) ?? createThrottle(clock);
    throttles.delete(uuid);
    throttles.set(uuid, throttle);
    if (throttles.size > MOST_RESOURCES) throttles.delete(throttles.keys().next().value!);
    return throttle;
  };
}

function createThrottle({ nowMs, sleep }: Clock): Throttle {
  /**
   * When the next call is covered. Each call moves it on by the time in which one is refilled, each answer sets it by
   * the calls that are left, and a 429 to the time that it asks for.
   */
  let coveredAtMs = -Infinity;
  let inFlight = 0;

  function count({ status, headers }: HttpAnswer): void {
    const left = Number.parseInt(String(headers["ratelimit-remaining"]), 10);
    // The platform may not have counted yet what is still in flight.
    if (left >= 0) coveredAtMs = nowMs() + (1 + inFlight - left) * REFILL_MS;
    if (status === 429) coveredAtMs = Math.max(coveredAtMs, nowMs() + (retryAfterMs(headers) ?? REFILL_MS));
  }

  return async function inTurn(send) {
    const waitMs = Math.max(0, coveredAtMs - nowMs());
    if (waitMs > MOST_WAIT_MS) throw new RateLimited(waitMs);
    coveredAtMs += REFILL_MS;
    inFlight += 1;
    let answer: HttpAnswer;
    try {
      if (waitMs > 0) await sleep(waitMs);
      answer = await send();
    } finally {
      inFlight -= 1;
    }
    count(answer);
    return answer;
  };
}
