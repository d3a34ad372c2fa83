import { setTimeout as sleep } from "node:timers/promises";

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

/** How often (ms) a full pool is looked at; after {@link SOME_LOOKS}, less often. */
const LOOK_MS = 5;
const LOOK_LATER_MS = 100;
const SOME_LOOKS = 20;
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
  let isFull = false;
  let lastFull = -Infinity;
  let fullSince: number | null = null;

  function begin(row: Row, signal: AbortSignal): void {
    const run = handle(row, signal).finally(() => {
      underWay.delete(run);
      onEnd();
    });
    underWay.add(run);
  }

  /** Reserves the free places, as soon as they are worth a claim. Returns their number; 0 when `signal` is aborted. */
  async function reserve(signal: AbortSignal): Promise<number> {
    for (let looks = 0; !signal.aborted; looks += 1) {
      const most = forNow();
      const free = most - underWay.size - reserved;
      if (free > 0 && (free >= Math.floor(most / 4) || looks >= SOME_LOOKS)) {
        reserved += free;
        return free;
      }
      await sleep(looks < SOME_LOOKS ? LOOK_MS : LOOK_LATER_MS);
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
