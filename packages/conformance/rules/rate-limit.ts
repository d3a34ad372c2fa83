import { holds } from "../rule.ts";
import type { Call } from "../stage/books.ts";
import { jsonReply } from "../stage/wire.ts";

const RETRY_AFTER_SECONDS = 2;
/** The clocks of two processes may differ by some milliseconds. */
const CLOCKS_DIFFER_BY_MS = 50;

/** A call is answered with 429 and this Retry-After. */
export const rateLimited = (seconds = RETRY_AFTER_SECONDS) => ({
  reply: jsonReply(429, { id: "rate_limit", message: "Too many." }, { "retry-after": String(seconds) }),
});

/** Throws Broken if what followed a call that was {@link rateLimited} came too soon. `again`: in words, what followed. */
export function holdsRetryAfter(limited: Call, next: Call, again: string): void {
  const waitedMs = next.at - limited.endedAt!;
  holds(
    waitedMs > RETRY_AFTER_SECONDS * 1_000 - CLOCKS_DIFFER_BY_MS,
    `Retry-After said ${RETRY_AFTER_SECONDS} s, ${again} came after ${(waitedMs / 1_000).toFixed(1)} s.`,
  );
}
