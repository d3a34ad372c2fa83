import { setTimeout as sleep } from "node:timers/promises";

/** A full pool looks each 10 ms; so often, it waits until a quarter of its places is free: one claim serves several rows. */
const PATIENT_LOOKS = 10;

export type WorkerPool = ReturnType<typeof createWorkerPool>;

/**
 * Runs due work, as many rows at once as there are places. `handle` must never reject. Rows are claimed only when they
 * can be started, because a lease runs from the claim.
 */
export function createWorkerPool<Row>(needs: {
  claim(most: number): Promise<Row[]>;
  handle(row: Row, signal: AbortSignal): Promise<void>;
  /** How many rows may be under way now; those that are go on if it falls. */
  places(): number;
}) {
  const underWay = new Set<Promise<void>>();
  let reserved = 0;

  return {
    /**
     * Claims rows and starts them, until a claim finds nothing or `signal` says stop. Does not wait for them: one slow
     * row must not keep the next look for work from happening. Returns how many rows it took.
     */
    async fill(signal: AbortSignal): Promise<number> {
      let taken = 0;
      for (let looks = 0; !signal.aborted; looks++) {
        const most = needs.places();
        const free = most - underWay.size - reserved;
        if (free <= 0 || (free < most / 4 && looks < PATIENT_LOOKS)) {
          await sleep(10);
          continue;
        }
        looks = 0;
        reserved += free;
        try {
          const rows = await needs.claim(free);
          // It skips rows that another process is just taking, so fewer than asked for do not mean the end; none do.
          if (rows.length === 0) break;
          taken += rows.length;
          for (const row of rows) {
            const run = needs.handle(row, signal).finally(() => underWay.delete(run));
            underWay.add(run);
          }
        } finally {
          reserved -= free;
        }
      }
      return taken;
    },
    underWay: () => underWay.size,
    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
