type Closer = () => unknown;
/** Called with each failure after the first, which is thrown. */
type OnLater = (error: unknown) => void;

/**
 * Calls `closers` one after the other, even if one of them fails. Throws the first failure after all were called;
 * `onLater` is called with the others.
 */
export async function closeAll(closers: readonly Closer[], onLater: OnLater): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  throwFirst(failures, onLater);
}

/** Calls `closers` at the same time, and waits for all of them. Failures are treated as by {@link closeAll}. */
export async function closeTogether(closers: readonly Closer[], onLater: OnLater): Promise<void> {
  const ends = await Promise.allSettled(closers.map(async (close) => close()));
  const failures = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
  throwFirst(failures, onLater);
}

function throwFirst(failures: readonly unknown[], onLater: OnLater): void {
  if (failures.length === 0) return;
  const [first, ...later] = failures;
  for (const failure of later) onLater(failure);
  throw first;
}
