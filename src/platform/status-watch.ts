import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import type { CurrentStatus, StatusFeed } from "./status.ts";

/** What is known of the platform's status. */
export interface Known {
  /** What the feed said last, and when (milliseconds since 1970); null: it has never answered. */
  last: { status: CurrentStatus; at: number } | null;
  /** Why the last call brought nothing; null: it did, or there was none. */
  failure: string | null;
}

/**
 * The status feed for a whole process. It is asked on demand only, once for all callers that wait, and at most every 30
 * s, also after a failure, so that a feed which is down or hangs costs next to nothing. Nothing here ever throws.
 */
export interface StatusWatch {
  /** What is known, without asking the feed. */
  known(): Known;
  /** Asks the feed, if the last call is long enough ago; otherwise resolves with what is known. */
  look(): Promise<Known>;
  /** Waits until the feed may be asked again, and asks. It keeps no process alive. */
  next(): Promise<Known>;
  /** Ends a call in flight at once; no further call is made. */
  close(): void;
}

/** How often the feed's own content changes (platform document, "Limits"). */
const EVERY_MS = 30_000;

export function createStatusWatch({
  feed,
  everyMs = EVERY_MS,
}: {
  feed: Pick<StatusFeed, "current">;
  everyMs?: number;
}): StatusWatch {
  const closing = new AbortController();
  let known: Known = { last: null, failure: null };
  let askedAt = -Infinity;
  let inFlight: Promise<Known> | null = null;
  let coming: Promise<Known> | null = null;

  async function call(): Promise<Known> {
    askedAt = performance.now();
    try {
      const { value } = await feed.current(closing.signal);
      known = { last: { status: value, at: Date.now() }, failure: null };
    } catch (error) {
      known = { ...known, failure: messageOf(error) };
    }
    inFlight = null;
    return known;
  }

  const leftMs = () => askedAt + everyMs - performance.now();

  async function look(): Promise<Known> {
    if (inFlight) return inFlight;
    return leftMs() > 0 || closing.signal.aborted ? known : (inFlight = call());
  }

  async function inTurn(): Promise<Known> {
    // In a loop, because a timer may fire a moment early.
    while (leftMs() > 0 && !inFlight && !closing.signal.aborted) {
      await sleep(leftMs(), undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
    coming = null;
    return look();
  }

  return {
    known: () => known,
    look,
    next: () => (coming ??= inTurn()),
    close: () => closing.abort(),
  };
}
