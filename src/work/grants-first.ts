/**
 * While more grants are due than can be exchanged, no step begins: a grant is worth nothing after five minutes, and
 * nearly every step may wait for hours.
 */
export interface GrantsFirst {
  /** Reports a claim of grants; `isFull`: it returned as many as were wanted, so that more may be due. */
  observe(isFull: boolean): void;
  /** Whether steps must wait now. */
  mustWait(): boolean;
}

/**
 * The queue of grants counts as over this many ms after a claim was last full: where grants fall due about as fast as
 * they are exchanged, some claims are full and some are not.
 */
const ENDS_AFTER_MS = 1_000;
/** Then steps run beside the grants: these may queue for hours, and a step may hold back a grant itself. */
const LONGEST_WAIT_MS = 60_000;

export function createGrantsFirst(clock = () => performance.now()): GrantsFirst {
  let isFull = false;
  let lastFull = -Infinity;
  let since: number | null = null;
  return {
    observe(itWasFull) {
      // A claim may come long after the one before; until now the queue was as that one found it.
      if (isFull || itWasFull) lastFull = clock();
      isFull = itWasFull;
    },
    mustWait() {
      if (!isFull && clock() - lastFull >= ENDS_AFTER_MS) since = null;
      else since ??= clock();
      return since !== null && clock() - since < LONGEST_WAIT_MS;
    },
  };
}
