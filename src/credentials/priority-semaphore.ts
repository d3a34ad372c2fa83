/**
 * Waits for a permit for one call. Resolves to the function that releases the permit to the next caller in line; null:
 * do not call.
 */
export type Acquire = () => Promise<(() => void) | null>;

/** A caller that waits for a permit; `goOn` gives it one, or says that none will come. */
interface Waiter {
  signal: AbortSignal;
  goOn(hasPermit: boolean): void;
}

const PRIORITIES = ["grants", "refreshes"] as const;
type Priority = (typeof PRIORITIES)[number];

/**
 * A semaphore for `permits` calls under way at once; further callers wait in line. Grants go before token pairs: a grant
 * has five minutes, token pairs have hours. Once `signal` is aborted, its callers get no permit any more: those in line
 * and new ones get null.
 */
export function createPrioritySemaphore(permits: number) {
  const waiters: Record<Priority, Waiter[]> = { grants: [], refreshes: [] };
  const listenedTo = new WeakSet<AbortSignal>();
  let free = permits;

  function release(): void {
    const next = waiters.grants.shift() ?? waiters.refreshes.shift();
    if (next) next.goOn(true);
    else free += 1;
  }

  function dismiss(stopped: AbortSignal): void {
    for (const priority of PRIORITIES) {
      const dismissed = waiters[priority].filter(({ signal }) => signal === stopped);
      waiters[priority] = waiters[priority].filter(({ signal }) => signal !== stopped);
      for (const { goOn } of dismissed) goOn(false);
    }
  }

  const acquireAs =
    (priority: Priority) =>
    (signal: AbortSignal): Acquire =>
    async () => {
      if (signal.aborted) return null;
      if (free > 0) {
        free -= 1;
        return release;
      }
      // One listener for all callers that wait with this signal: there are many of them, and listeners are expensive.
      if (!listenedTo.has(signal)) signal.addEventListener("abort", () => dismiss(signal), { once: true });
      listenedTo.add(signal);
      const hasPermit = await new Promise<boolean>((goOn) => waiters[priority].push({ signal, goOn }));
      return hasPermit ? release : null;
    };

  return { forGrant: acquireAs("grants"), forRefresh: acquireAs("refreshes") };
}

export type PrioritySemaphore = ReturnType<typeof createPrioritySemaphore>;

/** For a refresh that a caller waits for: it neither waits for a permit nor takes one. */
export const withoutPermit: Acquire = () => Promise.resolve(() => undefined);
