import { setTimeout as sleep } from "node:timers/promises";

/** Waits `ms`, and no less: a timer counts whole milliseconds and may be early by one. Rejects when `signal` says stop. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  const endsAt = performance.now() + ms;
  for (let left = ms; left > 0; left = endsAt - performance.now())
    await sleep(Math.ceil(left), undefined, { signal });
}
