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
