/** Steps give way to grants for this long at most: the grants may queue for hours. */
const LONGEST_WAY_MS = 60_000;

/**
 * Makes a function that tells whether a lane of steps must give way to grants now: a grant is worth nothing after five
 * minutes, and nearly every step may wait for hours. A lane gives way for a minute at most, counted from when it began
 * to; then it runs beside the grants until they queue no more. The step of a provision whose process died before it
 * answered holds back a grant itself.
 */
export function createGivingWay(
  areGrantsQueued: () => boolean,
  clock = () => performance.now(),
): () => boolean {
  let since: number | null = null;
  return () => {
    if (!areGrantsQueued()) {
      since = null;
      return false;
    }
    since ??= clock();
    return clock() - since < LONGEST_WAY_MS;
  };
}
