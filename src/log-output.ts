import { pino } from "pino";

/** What waits for a reader at most, in bytes; of what comes then, nothing is kept but how many lines it was. */
const MOST_WAITING = 8_000_000;
/** Lines are handed over by so many bytes, or after so long: each handing over costs as much as writing ten lines. */
const MOST_HELD_BYTES = 4_096;
const AT_THE_LATEST_MS = 50;
/** How long a process that ends waits for somebody to take its last lines. */
const LAST_LINES_MS = 2_000;

/**
 * Standard output, for the log: written beside the service's work, so that a reader who is slow, or gone, or a disk that
 * is full, holds nobody up. A process that ends writes what is left, if it is taken.
 */
export function logOutput(): { write(line: string): void } {
  let dropped = 0;
  let endsAt = Infinity;
  process.once("exit", () => (endsAt = performance.now() + LAST_LINES_MS));
  const output = pino.destination({
    dest: 1,
    sync: false,
    maxLength: MOST_WAITING,
    minLength: MOST_HELD_BYTES,
    periodicFlush: AT_THE_LATEST_MS,
    retryEAGAIN: () => performance.now() < endsAt,
  });
  // A full disk may have room again: what waits is tried again by and by. To write it at once would be tried without end,
  // with nothing else done meanwhile, not even ending; and an error that nobody hears would end the service.
  let isTaken = true;
  output.on("error", () => (isTaken = false)).on("write", () => (isTaken = true));
  const flush = output.flushSync.bind(output);
  output.flushSync = () => {
    if (!isTaken) return;
    try {
      flush();
    } catch {
      // Nobody takes it.
    }
  };
  output.on("drop", () => (dropped += 1));
  output.on("drain", () => {
    if (dropped === 0) return;
    const count = dropped;
    dropped = 0;
    const msg = `Nobody took the log: ${count} lines were dropped`;
    output.write(`${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`);
  });
  return output;
}
