/** Waits for a place for one call. What it resolves to gives the place back, for the next in line; null: do not call. */
export type TakeSlot = () => Promise<(() => void) | null>;

/** Of so many calls under way at once, the next waits in line; once `signal` says stop, nobody is let through any more. */
export function createSlots(count: number) {
  const line: (() => void)[] = [];
  let free = count;

  function giveBack(): void {
    const next = line.shift();
    if (next) next();
    else free += 1;
  }

  return (signal: AbortSignal): TakeSlot =>
    async () => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => line.push(resolve));
      if (!signal.aborted) return giveBack;
      giveBack();
      return null;
    };
}

/** For a call that somebody waits for. */
export const withoutWaiting: TakeSlot = () => Promise.resolve(() => undefined);

/**
 * So many rows are claimed for each call that may be under way: while some are called for, the next are being claimed and
 * the last ones stored, each of which takes a commit. Not more: who waits in line for a call of 20 seconds must then have
 * enough of the lease left.
 */
export const ROWS_PER_SLOT = 2;
