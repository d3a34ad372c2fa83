import { setTimeout as sleep } from "node:timers/promises";

/**
 * Waits at least `ms`: a timer counts whole milliseconds and may fire one too early. Rejects when `signal` is aborted.
 */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  const endsAt = performance.now() + ms;
  for (let left = ms; left > 0; left = endsAt - performance.now())
    await sleep(Math.ceil(left), undefined, { signal });
}
