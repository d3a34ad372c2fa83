/** Runs due work: at most `concurrency` rows at once, however many calls of `fill` start them. */
export interface WorkerPool {
  /**
   * Claims rows and starts them, more as places become free, until a claim finds nothing or `signal` says stop. It does
   * not wait for what it started: one slow row must not keep the next look for work from happening. Returns how many
   * rows it took.
   */
  fill(signal: AbortSignal): Promise<number>;
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
}

/**
 * How often (ms) a pool that is held back by `forNow` checks whether it still is; also how long free places wait until
 * a quarter of the pool is free.
 */
const LOOK_AGAIN_MS = 100;

/**
 * Makes a pool. `handle` must never reject. Rows are claimed only when they can be started, because a lease runs from
 * the claim, and by the quarter of the pool, so that a busy pool does not query the database for every single row. Rows
 * that take minutes free no quarter soon: after {@link LOOK_AGAIN_MS} as many are claimed as there are free places.
 */
export function createWorkerPool<Row>(needs: {
  claim(most: number): Promise<Row[]>;
  handle(row: Row, signal: AbortSignal): Promise<void>;
  concurrency: number;
  /** The limit for now, asked before each claim; rows under way go on. `concurrency` unless given. */
  forNow?(): number;
  /** Called when a row ended: what it left behind may be due soon. */
  onEnd(): void;
}): WorkerPool {
  const { claim, handle, concurrency, forNow = () => concurrency, onEnd } = needs;
  let underWay = 0;
  const waiting = new Set<() => void>();
  /** Places that claims under way may fill. */
  let reserved = 0;

  async function work(row: Row, signal: AbortSignal): Promise<void> {
    underWay += 1;
    try {
      await handle(row, signal);
    } finally {
      underWay -= 1;
      lookAgain();
      onEnd();
    }
  }

  function lookAgain(): void {
    if (waiting.size > 0) for (const goOn of [...waiting]) goOn();
  }

  /** Claims rows and starts them. Until the claim ends, no other claim is made for the same places. */
  async function take(most: number, signal: AbortSignal): Promise<number> {
    reserved += most;
    try {
      const rows = await claim(most);
      for (const row of rows) void work(row, signal);
      return rows.length;
    } finally {
      reserved -= most;
      lookAgain();
    }
  }

  /** Resolves when a row or a claim ends, when `signal` is aborted, or after `withinMs`. */
  function anEnd(signal?: AbortSignal, withinMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", goOn);
        waiting.delete(goOn);
        resolve();
      };
      signal?.addEventListener("abort", goOn);
      const timer = withinMs === undefined ? undefined : setTimeout(goOn, withinMs);
      waiting.add(goOn);
    });
  }

  return {
    async fill(signal) {
      let taken = 0;
      let someFreeSince: number | null = null;
      while (!signal.aborted) {
        const most = forNow();
        const free = most - underWay - reserved;
        const isQuarter = free >= Math.max(Math.floor(most / 4), 1);
        if (free > 0) someFreeSince ??= performance.now();
        else someFreeSince = null;
        if (!isQuarter && performance.now() - (someFreeSince ?? Infinity) < LOOK_AGAIN_MS) {
          await anEnd(signal, free > 0 || most < concurrency ? LOOK_AGAIN_MS : undefined);
          continue;
        }
        someFreeSince = null;
        const rows = await take(free, signal);
        taken += rows;
        // A claim skips rows that another process is just taking, so fewer rows than asked for do not mean the end;
        // none do.
        if (rows === 0) break;
      }
      return taken;
    },

    async settled() {
      while (underWay > 0) await anEnd();
    },
  };
}
