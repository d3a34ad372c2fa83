import { RateLimited } from "./api-errors.ts";
import type { HttpAnswer } from "./http.ts";
import { retryAfterMs } from "./retry-after.ts";

export interface Clock {
  nowMs: () => number;
  sleep: (ms: number) => Promise<unknown>;
}

/** Sends the calls of one resource no faster than the platform's rate limit for it allows. */
export interface Throttle {
  inTurn(send: () => Promise<HttpAnswer>): Promise<HttpAnswer>;
}

/**
 * Trusts the last `RateLimit-Remaining`, plus what has been refilled since then, minus the calls still in flight. At
 * zero, one call goes per `refillMs` instead of being refused (the platform is assumed to refill 75 a minute, section
 * 4); after a 429 none goes before the time it asks for. A call that would have to wait longer than `mostWaitMs`
 * rejects with `RateLimited`. Every resource has its own limit (platform document, "Limits"), so one cannot slow
 * another.
 */
export function createThrottle({
  nowMs,
  sleep,
  refillMs = 1_000,
  mostWaitMs = 10_000,
}: Clock & ThrottleLimits): Throttle {
  const count = createCount(nowMs, refillMs);
  let inFlight = 0;
  let turns = 0;
  let closedUntilMs = 0; // asked for by a 429
  let nextTurnMs = 0; // when one more call has been refilled since the last went

  async function inTurn(send: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    const now = nowMs();
    const turnMs = Math.max(now, closedUntilMs, count.remaining() > inFlight ? 0 : nextTurnMs);
    if (turnMs - now > mostWaitMs) throw new RateLimited(turnMs - now);
    nextTurnMs = Math.max(nextTurnMs, turnMs + refillMs);
    inFlight += 1;
    const turn = (turns += 1);
    let answer: HttpAnswer | undefined;
    try {
      if (turnMs > now) await sleep(turnMs - now);
      return (answer = await send());
    } finally {
      inFlight -= 1;
      count.note(answer?.headers["ratelimit-remaining"], turn);
      if (answer?.status === 429) close(answer);
    }
  }

  function close({ headers }: HttpAnswer): void {
    count.empty();
    closedUntilMs = Math.max(closedUntilMs, nowMs() + (retryAfterMs(headers) ?? refillMs));
  }

  return { inTurn };
}

/**
 * The number of calls that the platform still allows: the last count it sent, corrected for refills and our calls
 * since.
 */
function createCount(nowMs: Clock["nowMs"], refillMs: number) {
  let noted = Infinity;
  let notedAtMs = 0;
  let notedTurn = 0; // whose count is believed

  function set(remaining: number): void {
    noted = remaining;
    notedAtMs = nowMs();
  }

  return {
    remaining: () => noted + Math.max(0, Math.floor((nowMs() - notedAtMs) / refillMs)),
    empty: () => set(0),
    /**
     * Takes the count from the answer to a call. A call whose answer has none (undefined) has used one up all the same.
     */
    note(header: string | string[] | undefined, turn: number): void {
      const said = Number.parseInt(String(header), 10);
      if (!(said >= 0)) return void (noted -= 1);
      // Answers overtake each other: an earlier call's larger count is old news.
      if (said >= noted && turn <= notedTurn) return;
      set(said);
      notedTurn = Math.max(notedTurn, turn);
    },
  };
}

interface ThrottleLimits {
  refillMs?: number;
  mostWaitMs?: number;
}

/** A throttle per resource that outlives its clients; the `mostResources` that called last are remembered. */
export function createThrottles(clock: Clock, mostResources = 10_000): (uuid: string) => Throttle {
  const throttles = new Map<string, Throttle>();
  return (uuid) => {
    const throttle = throttles.get(uuid) ?? createThrottle(clock);
    throttles.delete(uuid);
    throttles.set(uuid, throttle);
    const [oldest] = throttles.keys();
    if (throttles.size > mostResources && oldest !== undefined) throttles.delete(oldest);
    return throttle;
  };
}
