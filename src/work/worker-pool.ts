// A claim waits until a quarter of the places is free, so that one statement serves several rows.

/** How often the number of free places is checked while no row ends. */
const CHECK_EVERY_MS = 10;
/** After this many checks the pool claims for fewer free places than a quarter. */
const PATIENT_CHECKS = 10;

export type WorkerPool = ReturnType<typeof createWorkerPool>;

/**
 * Runs due work, as many rows at once as there are places. `handle` must never reject. Rows are claimed only when they
 * can be started, because a lease runs from the claim.
 */
export function createWorkerPool<Row>(needs: {
  claim(most: number): Promise<Row[]>;
  handle(row: Row, signal: AbortSignal): Promise<void>;
  /** How many rows may be under way now. Rows under way continue when the number falls. */
  places(): number;
}) {
  const underWay = new Set<Promise<void>>();
  let reserved = 0;
  const free = () => needs.places() - underWay.size - reserved;
  const isQuarterFree = () => free() > 0 && free() >= needs.places() / 4;

  let checkNow = () => {};
  const nextCheck = () =>
    new Promise<void>((resolve) => {
      checkNow = resolve;
      setTimeout(resolve, CHECK_EVERY_MS);
    });

  return {
    /**
     * Claims rows and starts them until a claim returns no row or `signal` is aborted. Resolves before the rows end: one
     * slow row must not delay the next claim. Returns how many rows were started.
     */
    async fill(signal: AbortSignal): Promise<number> {
      let taken = 0;
      for (let checks = 0; !signal.aborted; checks++) {
        if (!isQuarterFree() && (free() <= 0 || checks < PATIENT_CHECKS)) {
          await nextCheck();
          continue;
        }
        checks = 0;
        const most = free();
        reserved += most;
        try {
          const rows = await needs.claim(most);
          // A claim skips rows that another process is claiming, so more rows may be due after fewer than `most`.
          if (rows.length === 0) break;
          taken += rows.length;
          for (const row of rows) {
            const run = needs.handle(row, signal).finally(() => {
              underWay.delete(run);
              if (isQuarterFree()) checkNow();
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
    /** Resolves when no row is under way. */
    async settled(): Promise<void> {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
