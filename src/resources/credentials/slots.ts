/** Waits for a place for one call. What it resolves to gives the place back, for the next in line; null: do not call. */
export type TakeSlot = () => Promise<(() => void) | null>;

/** Somebody who waits for a place; `goOn` gives it, or says that there is none to come. */
interface Waiting {
  signal: AbortSignal;
  goOn(hasPlace: boolean): void;
}

/**
 * Places for `count` calls under way at once; who finds none waits in line. A grant goes before token pairs: it has five
 * minutes, they have hours. Once `signal` says stop, nobody is let through any more, and who waits is let go.
 */
export function createSlots(count: number) {
  const lines: Record<"grants" | "refreshes", Waiting[]> = { grants: [], refreshes: [] };
  const heard = new WeakSet<AbortSignal>();
  let free = count;

  function giveBack(): void {
    const next = lines.grants.shift() ?? lines.refreshes.shift();
    if (next) next.goOn(true);
    else free += 1;
  }

  function letGo(stopped: AbortSignal): void {
    for (const name of ["grants", "refreshes"] as const) {
      const gone = lines[name].filter(({ signal }) => signal === stopped);
      lines[name] = lines[name].filter(({ signal }) => signal !== stopped);
      for (const { goOn } of gone) goOn(false);
    }
  }

  const inLine =
    (name: keyof typeof lines) =>
    (signal: AbortSignal): TakeSlot =>
    async () => {
      if (signal.aborted) return null;
      if (free > 0) {
        free -= 1;
        return giveBack;
      }
      // One ear for all who wait with it: there are many of them, and listeners are dear.
      if (!heard.has(signal)) signal.addEventListener("abort", () => letGo(signal), { once: true });
      heard.add(signal);
      const hasPlace = await new Promise<boolean>((goOn) => lines[name].push({ signal, goOn }));
      return hasPlace ? giveBack : null;
    };

  return { forGrant: inLine("grants"), forRefresh: inLine("refreshes") };
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
