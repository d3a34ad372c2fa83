import type { IncomingHttpHeaders } from "node:http";

const LEAST_MS = 1_000;
const MOST_MS = 15 * 60_000;

/**
 * How long the other side asks us to wait, in milliseconds between 1 s and 15 min; undefined if it does not say, or
 * says nothing readable. A date is counted from the answer's own `Date`, so that our clock may be wrong.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, nowMs: number = Date.now()): number | undefined {
  const value = headers["retry-after"]?.trim();
  if (!value) return undefined;
  const waitMs = Number.isNaN(Number(value))
    ? Date.parse(value) - sentAtMs(headers, nowMs)
    : Number(value) * 1_000;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, LEAST_MS), MOST_MS);
}

function sentAtMs({ date }: IncomingHttpHeaders, nowMs: number): number {
  const sentAt = Date.parse(date ?? "");
  return Number.isNaN(sentAt) ? nowMs : sentAt;
}
