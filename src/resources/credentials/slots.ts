/**
 * Waits for a place for one call. Resolves to a function that gives the place back, for the next in line; null: do not
 * call.
 */
export type TakeSlot = () => Promise<(() => void) | null>;

/** A caller that waits for a place; `goOn` gives it one, or says that none will come. */
interface Waiting {
  signal: AbortSignal;
  goOn(hasPlace: boolean): void;
}

/**
 * Places for `count` calls under way at once; further callers wait in line. Grants go before token pairs: a grant has
 * five minutes, token pairs have hours. Once `signal` is aborted, its callers get no place any more: those in line and
 * new ones get null.
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
      // One listener for all callers that wait with this signal: there are many of them, and listeners are expensive.
      if (!heard.has(signal)) signal.addEventListener("abort", () => letGo(signal), { once: true });
      heard.add(signal);
      const hasPlace = await new Promise<boolean>((goOn) => lines[name].push({ signal, goOn }));
      return hasPlace ? giveBack : null;
    };

  return { forGrant: inLine("grants"), forRefresh: inLine("refreshes") };
}

export type Slots = ReturnType<typeof createSlots>;

/** For a refresh that a caller waits for: it neither waits for a place nor takes one. */
export const withoutWaiting: TakeSlot = () => Promise.resolve(() => undefined);

/**
 * How many rows are claimed for each call that may be under way: while some are called for, the next are being claimed
 * and the last ones stored, each of which takes a commit. Not more: a row that waits in line behind a call of 20
 * seconds must then have enough of its lease left.
 */
export const ROWS_PER_SLOT = 2;
