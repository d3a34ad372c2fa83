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
