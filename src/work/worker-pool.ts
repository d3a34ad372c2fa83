/** Runs due work: at most `concurrency` rows at once, however many calls of `fill` start them. */
export interface WorkerPool {
  /**
   * Claims rows and starts them, more as places become free, until a claim finds nothing or `signal` says stop. It does
   * not wait for what it started: one slow row must not keep the next look for work from happening. Returns how many
   * rows it took.
   */
  fill(signal: AbortSignal): Promise<number>;
  /** For how long (ms) more has been due than can be started: claims return all that was asked for. Null: it is not. */
  overfullForMs(): number | null;
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
}

/** How long (ms) free places wait until a quarter of the pool is free; and how often `forNow` is asked again. */
const LOOK_AGAIN_MS = 100;
/** Where rows fall due about as fast as they end, some claims are full and some are not. */
const FULL_AGAIN_MS = 1_000;

/**
 * Makes a pool. `handle` must never reject. Rows are claimed only when they can be started, because a lease runs from
 * the claim, and by the quarter of the pool, so that a busy pool does not query the database for every single row. Rows
 * that take long free no quarter soon: then as many are claimed as there are free places.
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
  const underWay = new Set<Promise<void>>();
  /** Places that claims under way may fill. */
  let reserved = 0;
  /** Who waits for places to become free. */
  const waiting = new Set<() => void>();
  let isFull = false;
  let lastFull = -Infinity;
  let fullSince: number | null = null;

  function begin(row: Row, signal: AbortSignal): void {
    const run = handle(row, signal).finally(() => {
      underWay.delete(run);
      lookAgain();
      onEnd();
    });
    underWay.add(run);
  }

  function lookAgain(): void {
    for (const goOn of waiting) goOn();
  }

  /** Resolves when a row or a claim ends, or after {@link LOOK_AGAIN_MS}. */
  function anEnd(): Promise<void> {
    return new Promise((resolve) => {
      const goOn = () => {
        clearTimeout(timer);
        waiting.delete(goOn);
        resolve();
      };
      const timer = setTimeout(goOn, LOOK_AGAIN_MS);
      waiting.add(goOn);
    });
  }

  /** Reserves the free places, as soon as they are worth a claim. Returns their number; 0 when `signal` is aborted. */
  async function reserve(signal: AbortSignal): Promise<number> {
    const since = performance.now();
    while (!signal.aborted) {
      const most = forNow();
      const free = most - underWay.size - reserved;
      if (free > 0 && (free >= Math.floor(most / 4) || performance.now() - since >= LOOK_AGAIN_MS)) {
        reserved += free;
        return free;
      }
      await anEnd();
    }
    return 0;
  }

  function overfullForMs(): number | null {
    const now = performance.now();
    if (isFull) lastFull = now;
    if (now - lastFull > FULL_AGAIN_MS) fullSince = null;
    else fullSince ??= now;
    return fullSince === null ? null : now - fullSince;
  }

  /** Claims rows for reserved places, and starts them. */
  async function take(most: number, signal: AbortSignal): Promise<number> {
    try {
      const rows = await claim(most);
      for (const row of rows) begin(row, signal);
      overfullForMs();
      isFull = rows.length >= most;
      return rows.length;
    } finally {
      reserved -= most;
      lookAgain();
    }
  }

  return {
    async fill(signal) {
      let taken = 0;
      for (;;) {
        const free = await reserve(signal);
        // A claim skips rows that another process is just taking, so fewer rows than asked for do not mean the end;
        // none do.
        const rows = free > 0 ? await take(free, signal) : 0;
        taken += rows;
        if (rows === 0) return taken;
      }
    },
    overfullForMs,
    async settled() {
      while (underWay.size > 0) await Promise.race(underWay);
    },
  };
}
