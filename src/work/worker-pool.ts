import { setTimeout as sleep } from "node:timers/promises";

/** Runs due work, as many rows at once as there are places. */
export interface WorkerPool {
  /**
   * Claims rows and starts them, until a claim finds nothing or `signal` says stop. Does not wait for them: one slow
   * row must not keep the next look for work from happening. Returns how many rows it took.
   */
  fill(signal: AbortSignal): Promise<number>;
  underWay(): number;
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
}

/** A full pool looks each 10 ms; so often, it waits until a quarter of its places is free: one claim serves several rows. */
const PATIENT_LOOKS = 10;

/** `handle` must never reject. Rows are claimed only when they can be started, because a lease runs from the claim. */
export function createWorkerPool<Row>(needs: {
  claim(most: number): Promise<Row[]>;
  handle(row: Row, signal: AbortSignal): Promise<void>;
  /** How many rows may be under way now; those that are go on if it falls. */
  places(): number;
}): WorkerPool {
  const { claim, handle, places } = needs;
  const underWay = new Set<Promise<void>>();
  let reserved = 0;

  /** Reserves the free places, as soon as they are worth a claim. Returns their number; 0 when `signal` is aborted. */
  async function reserve(signal: AbortSignal): Promise<number> {
    for (let looks = 0; !signal.aborted; looks++) {
      const most = places();
      const free = most - underWay.size - reserved;
      if (free > 0 && (free >= most / 4 || looks >= PATIENT_LOOKS)) {
        reserved += free;
        return free;
      }
      await sleep(10);
    }
    return 0;
  }

  async function take(most: number, signal: AbortSignal): Promise<number> {
    try {
      const rows = await claim(most);
      for (const row of rows) {
        const run = handle(row, signal).finally(() => underWay.delete(run));
        underWay.add(run);
      }
      return rows.length;
    } finally {
      reserved -= most;
    }
  }

  return {
    async fill(signal) {
      for (let taken = 0; ;) {
        const free = await reserve(signal);
        // A claim skips rows that another process is just taking, so fewer rows than asked for do not mean the end;
        // none do.
        const rows = free > 0 ? await take(free, signal) : 0;
        if (rows === 0) return taken;
        taken += rows;
      }
    },
    underWay: () => underWay.size,
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
