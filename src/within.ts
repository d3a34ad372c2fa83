import { once } from "node:events";

/** Resolves with `work`, or rejects with `late()` after `ms` milliseconds; a later result is dropped. */
export async function within<T>(ms: number, work: T | Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

type Limits = { ms: number; late: () => Error; cuts: readonly AbortSignal[] };

/**
 * Runs `work` with a signal that is aborted after `ms` milliseconds, with `late()`, or when one of `cuts` is, with its
 * reason. Then this rejects with that, also if the work does not end.
 */
export async function untilCut<T>(
  { ms, late, cuts }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const { signal } = ending;
  // Before `work` can listen, and before a cut that was made already: nothing that ends the work is missed.
  const aborted = once(signal, "abort").then(() => Promise.reject(signal.reason as Error));
  const listening = cuts.map((cut) => ({ cut, end: () => ending.abort(cut.reason) }));
  for (const { cut, end } of listening) cut.addEventListener("abort", end);
  for (const { cut, end } of listening) if (cut.aborted) end();
  const limit = setTimeout(() => ending.abort(late()), ms);
  try {
    return await Promise.race([aborted, (async () => work(signal))()]);
  } finally {
    clearTimeout(limit);
    for (const { cut, end } of listening) cut.removeEventListener("abort", end);
  }
}

export class LeaseLost extends Error {}

/**
 * As {@link untilCut}, while `hold` extends the lease of the work each `everyMs`; false cuts the work off, with
 * {@link LeaseLost}. While the database is unreachable nobody else can claim it either.
 */
export async function underLease<T>(
  { hold, everyMs, ...limits }: { hold: () => Promise<boolean>; everyMs: number } & Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController();
  const check = (isOurs: boolean) =>
    isOurs || lost.abort(new LeaseLost("It is no longer ours, or no longer wanted."));
  const beat = setInterval(() => void hold().then(check, () => undefined), everyMs);
  try {
    return await untilCut({ ...limits, cuts: [...limits.cuts, lost.signal] }, work);
  } finally {
    clearInterval(beat);
  }
}

/** The result of `work`, or null after `ms` milliseconds; the work goes on. */
export function orNullAfter<T>(ms: number, work: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), ms);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}

/** `work`, done at most once in `ms` milliseconds for all who ask meanwhile. A failure is not kept. */
export function sharedFor<T>(ms: number, work: () => Promise<T>): () => Promise<T> {
  let last: { result: Promise<T>; atMs: number } | null = null;
  return () => {
    if (last && performance.now() - last.atMs < ms) return last.result;
    const result = work();
    last = { result, atMs: performance.now() };
    result.catch(() => (last = null));
    return result;
  };
}

type Closer = () => unknown;

/**
 * Calls `closers` one after the other (those in a list among them at the same time), even if some of them fail. Throws
 * the first failure after all have ended; `onLater` is called with the others.
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
