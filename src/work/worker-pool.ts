/** A pool looks for free places each 10 ms, and as soon as a quarter is free: one claim serves several rows. */
const LOOK_EVERY_MS = 10;
/** So often it waits for that quarter. */
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
  const free = () => needs.places() - underWay.size - reserved;
  const isQuarterFree = () => free() > 0 && free() >= needs.places() / 4;

  let lookNow = () => {};
  const nextLook = () =>
    new Promise<void>((resolve) => {
      lookNow = resolve;
      setTimeout(resolve, LOOK_EVERY_MS);
    });

  return {
    /**
     * Claims rows and starts them, until a claim finds nothing or `signal` says stop. Does not wait for them: one slow
     * row must not keep the next look for work from happening. Returns how many rows it took.
     */
    async fill(signal: AbortSignal): Promise<number> {
      let taken = 0;
      for (let looks = 0; !signal.aborted; looks++) {
        if (!isQuarterFree() && (free() <= 0 || looks < PATIENT_LOOKS)) {
          await nextLook();
          continue;
        }
        looks = 0;
        const most = free();
        reserved += most;
        try {
          const rows = await needs.claim(most);
          // It skips rows that another process is just taking, so fewer than asked for do not mean the end; none do.
          if (rows.length === 0) break;
          taken += rows.length;
          for (const row of rows) {
            const run = needs.handle(row, signal).finally(() => {
              underWay.delete(run);
              if (isQuarterFree()) lookNow();
            });
            underWay.add(run);
          }
        } finally {
          reserved -= most;
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
