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
