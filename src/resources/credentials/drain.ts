/**
 * Works on claimed rows, `concurrency` at a time, claiming more as places become free, until a claim finds nothing or
 * `signal` says stop. Each row fails alone. Returns how many rows were taken.
 *
 * Rows are claimed shortly before they are used, because a lease runs from the claim: at most as many wait as are in
 * flight.
 */
export async function drain<Row>(needs: {
  claim(most: number): Promise<Row[]>;
  handle(row: Row): Promise<void>;
  concurrency: number;
  signal: AbortSignal;
  /** Gives back a row that was claimed but not begun when work stopped. */
  release(row: Row): Promise<void>;
}): Promise<number> {
  const { claim, handle, release, concurrency, signal } = needs;
  const waiting: Row[] = [];
  let taken = 0;
  let isDry = false;
  let refill: Promise<void> | null = null;

  const fill = () =>
    (refill ??= (async () => {
      try {
        const rows = await claim(concurrency);
        taken += rows.length;
        waiting.push(...rows);
        // A claim skips rows that another process is just taking, so a short answer is not yet the end; none is.
        if (rows.length === 0) isDry = true;
      } finally {
        refill = null;
      }
    })());

  async function work(): Promise<void> {
    while (!signal.aborted) {
      if (waiting.length < concurrency / 2 && !isDry) {
        const filling = fill();
        if (waiting.length === 0) await filling;
        else filling.catch(() => undefined);
      }
      const row = waiting.shift();
      if (row !== undefined) await handle(row);
      else if (isDry) return;
    }
  }

  try {
    await fill();
    const workers = Array.from({ length: Math.min(concurrency, Math.max(waiting.length, 1)) }, work);
    const results = await Promise.allSettled(workers);
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  } finally {
    await Promise.allSettled(waiting.splice(0).map(release));
  }
  return taken;
}
