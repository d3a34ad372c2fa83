/** Longer than that a timer of Node's cannot be. */
const LONGEST_SECONDS = 2_147_483;

/**
 * A signal that is aborted with `signal`, for the same reason, or after so many seconds with a `TimeoutError`, for a call
 * that must not take longer: `fetch(url, { signal: within(signal, 30) })`. It keeps no process alive.
 *
 * Use it in place of `AbortSignal.any([signal, AbortSignal.timeout(30_000)])`: there nothing but the garbage collector of
 * Node 20 holds the timeout, and once that has run, the signal is never aborted.
 */
export function within(signal: AbortSignal | undefined, seconds: number): AbortSignal {
  if (!(seconds > 0)) throw new RangeError(`The seconds must be above 0, and are ${seconds}.`);
  if (signal?.aborted) return signal;
  const ending = new AbortController();
  const late = () => end(new DOMException(`There was no end after ${seconds} s.`, "TimeoutError"));
  const timer = setTimeout(late, Math.min(seconds, LONGEST_SECONDS) * 1_000).unref();
  const cut = () => end(signal?.reason);
  signal?.addEventListener("abort", cut);
  function end(reason: unknown): void {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cut);
    ending.abort(reason);
  }
  return ending.signal;
}
