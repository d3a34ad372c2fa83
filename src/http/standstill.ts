import type { IncomingMessage } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { Refusal } from "../errors.ts";

// While a process does not run (it is stopped, its container is paused, or code blocks its event loop), the kernel goes
// on taking connections and requests for it. It reads them when it runs again: also those whose callers gave up, whose
// connections look open until their end is read too.

const LOOK_EVERY_MS = 500;
/** A process that was not seen running for this long stood still. */
const STOOD_STILL_MS = 2_000;
/** What has waited in the kernel is read within this time, however much it is. */
const CATCHES_UP_MS = 30_000;
/** The end of a connection is read in the next turn of the event loop after its last bytes; one more is for a new connection. */
const TURNS = 3;
/** The platform does not wait longer for an answer. */
const LONGEST_WAIT_MS = 20_000;

export type Callers = ReturnType<typeof watchCallers>;

/** `trustsProxy`: what `X-Request-Start` says comes from the router, not from anybody. */
export function watchCallers(trustsProxy: boolean) {
  let seenMs = performance.now();
  let stoodStillUntilMs = -Infinity;
  /** Also called by a request: after a standstill it may be read before the timer runs. */
  function look(): number {
    const now = performance.now();
    if (now - seenMs > STOOD_STILL_MS) stoodStillUntilMs = now;
    seenMs = now;
    return now;
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref();

  return {
    /**
     * After a standstill, throws a {@link Refusal} (408) if the caller of a request has gone, or cannot wait any more:
     * nothing may be carried out for it. The platform repeats the call, or has counted it as failed.
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

/** How long ago the router got a request, in ms, by its clock; it writes seconds, milliseconds or microseconds. */
function sinceStart({ headers }: IncomingMessage): number {
  const [, digits] = /^(?:t=)?(\d{10,16}(?:\.\d+)?)$/.exec(String(headers["x-request-start"])) ?? [];
  if (digits === undefined) return 0;
  const time = Number(digits);
  const startMs = time > 1e14 ? time / 1_000 : time > 1e11 ? time : time * 1_000;
  return Date.now() - startMs;
}
