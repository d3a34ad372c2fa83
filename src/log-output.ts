import { writeSync } from "node:fs";
import { pino } from "pino";

const STANDARD_OUTPUT = 1;
/** What waits for a reader at most, in bytes; of what comes then, nothing is kept but how many lines it was. */
const MOST_WAITING = 8_000_000;
/** Lines are handed over by so many bytes, or after so long: each handing over costs as much as writing ten lines. */
const MOST_HELD_BYTES = 4_096;
const AT_THE_LATEST_MS = 50;
/** How long a process that ends waits for somebody to take its last lines. */
const LAST_LINES_MS = 2_000;
const LOOKS_AGAIN_AFTER_MS = 20;

/** What the library keeps of lines that are not taken yet: the older ones, given to the system, and those behind them. */
interface Waiting {
  _writingBuf: string | Buffer;
  _bufs: (string | Buffer)[];
  _len: number;
}

/**
 * Standard output, for the log: written beside the service's work, so that a reader who is slow, or gone, or a disk that
 * is full, holds nobody up. A process that ends writes what is left, if it is taken.
 */
export function logOutput(): { write(line: string): void } {
  let dropped = 0;
  // Told to try again, and to wait for that: nothing of what is being written is on its way then.
  let isPutOff = false;
  const output = pino.destination({
    dest: STANDARD_OUTPUT,
    sync: false,
    maxLength: MOST_WAITING,
    minLength: MOST_HELD_BYTES,
    periodicFlush: AT_THE_LATEST_MS,
    retryEAGAIN: () => (isPutOff = true),
  });
  // A full disk may have room again: what waits is tried again by and by. An error that nobody hears would end the service.
  let isTaken = true;
  output
    .on("error", () => (isTaken = false))
    .on("write", () => {
      isTaken = true;
      isPutOff = false;
    });
  // The library's own tries again without end, whatever the reason, with nothing else done meanwhile, not even ending.
  const waiting = output as unknown as Waiting;
  output.flushSync = () => {
    const until = performance.now() + LAST_LINES_MS;
    if (isPutOff) {
      waiting._bufs.unshift(waiting._writingBuf);
      waiting._writingBuf = "";
    }
    while (isTaken && waiting._bufs.length > 0) {
      const lines = Buffer.from(waiting._bufs.shift()!);
      waiting._len -= lines.length;
      isTaken = isTakenAtOnce(lines, until);
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

/** Writes with nothing else done meanwhile. Only a reader who is slow is waited for. */
function isTakenAtOnce(lines: Buffer, until: number): boolean {
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let left = lines; left.length > 0;) {
    try {
      left = left.subarray(writeSync(STANDARD_OUTPUT, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || performance.now() > until) return false;
      Atomics.wait(never, 0, 0, LOOKS_AGAIN_AFTER_MS);
    }
  }
  return true;
}
