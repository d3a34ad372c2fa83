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

/**
 * Counts down from the last `RateLimit-Remaining`, and up by one a second. Without credit, a call waits until it is
 * covered, so that waiting calls go one by one; a 429 is a debt until the time that it asks for. A call that would wait
 * longer than 10 s rejects with `RateLimited`, and is not sent.
 */
function createThrottle({ nowMs, sleep }: Clock): Throttle {
  /** The calls that are left, each as the time in which it is refilled; unknown before the first answer. */
  let creditMs = Infinity;
  let countedAtMs = nowMs();
  let inFlight = 0;

  function refill(): void {
    creditMs += Math.max(0, nowMs() - countedAtMs);
    countedAtMs = nowMs();
  }

  function count({ status, headers }: HttpAnswer): void {
    refill();
    const left = Number.parseInt(String(headers["ratelimit-remaining"]), 10);
    // The platform may not have counted yet what is still in flight.
    if (left >= 0) creditMs = (left - inFlight) * REFILL_MS;
    if (status === 429) creditMs = Math.min(creditMs, REFILL_MS - (retryAfterMs(headers) ?? REFILL_MS));
  }

  return async function inTurn(send) {
    refill();
    const waitMs = Math.max(0, REFILL_MS - creditMs);
    if (waitMs > MOST_WAIT_MS) throw new RateLimited(waitMs);
    creditMs -= REFILL_MS;
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

/** So many resources' limits are remembered: those that called last. */
const MOST_RESOURCES = 10_000;

/**
 * A throttle per resource that outlives its clients: every resource has its own limit (platform document, "Limits"), so
 * one cannot slow another.
 */
export function createThrottles(clock: Clock): (uuid: string) => Throttle {
  const throttles = new Map<string, Throttle>();
  return (uuid) => {
    const throttle = throttles.get(uuid) ?? createThrottle(clock);
    throttles.delete(uuid);
    throttles.set(uuid, throttle);
    const [oldest] = throttles.keys();
    if (throttles.size > MOST_RESOURCES) throttles.delete(oldest!);
    return throttle;
  };
}
