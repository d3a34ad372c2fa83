import type { IncomingMessage } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { Refusal } from "../errors.ts";

// While a process stands still (it is stopped, its container is paused, or code blocks its event loop), the kernel continues
// to accept connections and requests for it. The process reads them when it runs again, also those whose callers gave up:
// their connections look open until their end is read, too.

const LOOK_EVERY_MS = 500;
/** The process stood still if the timer did not run for this long. */
const STOOD_STILL_MS = 2_000;
/** After a standstill, all requests that waited in the kernel are read within this time. */
const CATCHES_UP_MS = 30_000;
/** The turns of the event loop until the end of a connection is read: one after its last bytes, one more if it is new. */
const TURNS = 3;
/** The longest time for which the platform waits for an answer. */
const LONGEST_WAIT_MS = 20_000;

export type Callers = ReturnType<typeof watchCallers>;

/** `trustsProxy`: `X-Request-Start` comes from the router, so its time is used. */
export function watchCallers(trustsProxy: boolean) {
  let seenMs = performance.now();
  let stoodStillUntilMs = -Infinity;
  /** Also called for each request, which may be read before the timer runs. */
  function look(): number {
    const now = performance.now();
    if (now - seenMs > STOOD_STILL_MS) stoodStillUntilMs = now;
    seenMs = now;
    return now;
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref();

  return {
    /**
     * After a standstill, throws a {@link Refusal} (408) if the caller of a request has gone or can no longer wait. Its request
     * must not be carried out: the platform repeats the call, or has counted it as failed.
     */
    async stillWaits(request: IncomingMessage, receivedAtMs: number): Promise<void> {
      if (look() - stoodStillUntilMs > CATCHES_UP_MS) return;
      for (let turns = 0; turns < TURNS; turns++) await turn();
      const waitedMs = Math.max(performance.now() - receivedAtMs, trustsProxy ? sinceStart(request) : 0);
      if (request.socket.writable && waitedMs < LONGEST_WAIT_MS) return;
      throw new CallerGone();
    },
    close: () => clearInterval(timer),
  };
}

/** The caller of a request has gone while the process stood still. */
export class CallerGone extends Refusal {
  constructor() {
    super("The request was read too late: its caller has stopped waiting.", {
      id: "request_timeout",
      status: 408,
    });
  }
}

/** The age of a request in ms by the router's clock; 0 if unknown. Routers write seconds, milliseconds or microseconds. */
function sinceStart({ headers }: IncomingMessage): number {
  const [, digits] = /^(?:t=)?(\d{10,16}(?:\.\d+)?)$/.exec(String(headers["x-request-start"])) ?? [];
  if (digits === undefined) return 0;
  const time = Number(digits);
  const startMs = time > 1e14 ? time / 1_000 : time > 1e11 ? time : time * 1_000;
  return Date.now() - startMs;
}
