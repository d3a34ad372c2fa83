/** Waits for a place for one call. What it resolves to gives the place back, for the next in line; null: do not call. */
export type TakeSlot = () => Promise<(() => void) | null>;

/**
 * Places for `count` calls under way at once; who finds none waits in line. A grant goes before token pairs: it has five
 * minutes, they have hours. Once `signal` says stop, nobody is let through any more.
 */
export function createSlots(count: number) {
  const grants: (() => void)[] = [];
  const refreshes: (() => void)[] = [];
  let free = count;

  function giveBack(): void {
    const next = grants.shift() ?? refreshes.shift();
    if (next) next();
    else free += 1;
  }

  const inLine =
    (line: (() => void)[]) =>
    (signal: AbortSignal): TakeSlot =>
    async () => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => line.push(resolve));
      if (!signal.aborted) return giveBack;
      giveBack();
      return null;
    };

  return { forGrant: inLine(grants), forRefresh: inLine(refreshes) };
}

export type Slots = ReturnType<typeof createSlots>;

/** For a call that somebody waits for. */
export const withoutWaiting: TakeSlot = () => Promise.resolve(() => undefined);

/**
 * So many rows are claimed for each call that may be under way: while some are called for, the next are being claimed and
 * the last ones stored, each of which takes a commit. Not more: who waits in line for a call of 20 seconds must then have
 * enough of the lease left.
 */
export const ROWS_PER_SLOT = 2;
