import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves with `work`, or rejects with `late()` after `ms` milliseconds. The work continues; its result is dropped. */
export function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return unlessAfter<T, T>(ms, work, (_, reject) => reject(late()));
}

function unlessAfter<T, Else>(
  ms: number,
  work: Promise<T>,
  end: (resolve: (value: Else) => void, reject: (reason: Error) => void) => void,
): Promise<T | Else> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(end, ms, resolve, reject);
    // Without `finally`, which would make two more promises on the way of every provision.
    const ended =
      <Value>(settle: (value: Value) => void) =>
      (value: Value) => {
        clearTimeout(timer);
        settle(value);
      };
    work.then(ended(resolve), ended(reject));
  });
}

interface Limits {
  ms: number;
  late: () => Error;
  cuts: readonly AbortSignal[];
  /**
   * `hold` extends the lease, each `everyMs`, and resolves to `false` if another process has taken it. A `hold` that rejects
   * is ignored: while the database is unreachable, no process can take the lease.
   */
  lease?: { hold: () => Promise<boolean>; everyMs: number };
}

export class LeaseLost extends Error {}

/**
 * Runs `work` with a signal. The signal is aborted after `ms` milliseconds with `late()`, when one of `cuts` is aborted with
 * its reason, or when the lease is lost with {@link LeaseLost}. The promise then rejects with the same error, even if the
 * work does not end.
 */
export async function untilCut<T>(
  { ms, late, cuts, lease }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  let reject: (why: unknown) => void = () => undefined;
  const aborted = new Promise<never>((_, rejected) => (reject = rejected));
  const cut = (why: unknown) => {
    ending.abort(why);
    reject(why);
  };
  let isOver = false;
  const check = (isOurs: boolean) =>
    isOurs || isOver || cut(new LeaseLost("Another process has taken the work, or it was cancelled."));
  // Many calls listen to the same signal at once, which is no leak. The vendor's code may listen to its signal, too.
  setMaxListeners(0, ending.signal, ...cuts);
  const listening = cuts.map((signal) => ({ signal, end: () => cut(signal.reason) }));
  for (const { signal, end } of listening) signal.addEventListener("abort", end);
  // A signal that was aborted before does not emit the event.
  for (const { signal, end } of listening) if (signal.aborted) end();
  const limit = setTimeout(() => cut(late()), ms);
  const beat = lease && setInterval(() => void lease.hold().then(check, () => undefined), lease.everyMs);
  try {
    return await Promise.race([aborted, (async () => work(ending.signal))()]);
  } finally {
    isOver = true;
    clearTimeout(limit);
    clearInterval(beat);
    for (const { signal, end } of listening) signal.removeEventListener("abort", end);
  }
}

/** The result of `work`, or `null` after `ms` milliseconds. The work continues. */
export function orNullAfter<T>(ms: number, work: Promise<T>): Promise<T | null> {
  return unlessAfter<T, null>(ms, work, (resolve) => resolve(null));
}

/**
 * Calls `find` until it returns a result, which another request or process may be about to store. The last call is made
 * after `untilMs` (`performance.now()`), with `isLate`.
 */
export async function foundInTime<Found>(
  find: (isLate: boolean) => Promise<Found | null>,
  untilMs: number,
): Promise<Found | null> {
  for (;;) {
    const isLate = performance.now() > untilMs;
    const found = await find(isLate);
    if (found !== null || isLate) return found;
    await sleep(50);
  }
}

/** Calls `work` at most once in `ms` milliseconds; all callers in that time get its result. A failure is not kept. */
export function sharedFor<T>(ms: number, work: () => Promise<T>): () => Promise<T> {
  let last: { result: Promise<T>; atMs: number } | null = null;
  return () => {
    if (last && performance.now() - last.atMs < ms) return last.result;
    const result = work();
    last = { result, atMs: performance.now() };
    result.catch(() => {
      // A later call may have replaced a result that took longer than `ms`.
      if (last?.result === result) last = null;
    });
    return result;
  };
}

type Closer = () => unknown;

/**
 * Calls `closers` one after the other, and those of an inner list at the same time, even if some fail. Throws the first
 * failure after all have ended; `onLater` is called with the other failures.
 */
export async function closeAll(
  closers: readonly (Closer | readonly Closer[])[],
  onLater: (error: unknown) => void,
): Promise<void> {
  const failures: unknown[] = [];
  for (const step of closers) {
    const ends = await Promise.allSettled([step].flat().map(async (close) => close()));
    for (const end of ends) if (end.status === "rejected") failures.push(end.reason);
  }
  if (failures.length === 0) return;
  failures.slice(1).forEach(onLater);
  throw failures[0];
}
