/**
 * Waits for a turn to make one call. Resolves to the function that passes the turn on to the next in line; null: do not
 * call.
 */
export type TakeTurn = () => Promise<(() => void) | null>;

interface Waiter {
  signal: AbortSignal;
  goOn(isTurn: boolean): void;
}

/**
 * At most so many calls at once (`TOKEN_CONCURRENCY`); further callers wait in line. Grants go before token pairs: a
 * grant has five minutes, token pairs have hours. Once a caller's `signal` is aborted, it gets null.
 */
export function createTurns(most: number) {
  const grants: Waiter[] = [];
  const pairs: Waiter[] = [];
  const listenedTo = new WeakSet<AbortSignal>();
  let free = most;

  function pass(): void {
    const next = grants.shift() ?? pairs.shift();
    if (next) next.goOn(true);
    else free += 1;
  }

  function dismiss(stopped: AbortSignal): void {
    for (const line of [grants, pairs]) {
      const all = line.splice(0);
      line.push(...all.filter(({ signal }) => signal !== stopped));
      for (const { signal, goOn } of all) if (signal === stopped) goOn(false);
    }
  }

  const takeIn = (line: Waiter[], signal: AbortSignal) => async (): Promise<(() => void) | null> => {
    if (signal.aborted) return null;
    if (free > 0) {
      free -= 1;
      return pass;
    }
    // One listener for all callers that wait with this signal: there are many of them, and listeners are expensive.
    if (!listenedTo.has(signal)) signal.addEventListener("abort", () => dismiss(signal), { once: true });
    listenedTo.add(signal);
    return (await new Promise<boolean>((goOn) => line.push({ signal, goOn }))) ? pass : null;
  };

  return {
    forGrant: (signal: AbortSignal): TakeTurn => takeIn(grants, signal),
    forRefresh: (signal: AbortSignal): TakeTurn => takeIn(pairs, signal),
  };
}

/** For a refresh that a caller waits for: it neither waits for a turn nor takes one. */
export const atOnce: TakeTurn = () => Promise.resolve(() => undefined);
