import { writeSync } from "node:fs";
import { pino } from "pino";

const STANDARD_OUTPUT = 1;
/** At most this many bytes wait for a reader; further lines are dropped and only counted. */
const MOST_WAITING = 8_000_000;
/**
 * Lines are written together once they come to this many characters, or after this long: one write costs as much as
 * logging ten lines. (The library's own `minLength` measures all lines that wait again for each new one, which would
 * take a tenth of a provision's time.)
 */
const MOST_HELD_CHARACTERS = 16_000;
const AT_THE_LATEST_MS = 50;
/** How long a process that ends waits for the reader to take its last lines. */
const LAST_LINES_MS = 2_000;
const LOOKS_AGAIN_AFTER_MS = 20;

/** Internals of the library: the chunk that is being written, the chunks behind it, and the length of all. */
interface Waiting {
  _writingBuf: string | Buffer;
  _bufs: (string | Buffer)[];
  _len: number;
  _writing: boolean;
}

/**
 * Standard output, for the log. It is written asynchronously, so a slow or missing reader, or a full disk, does not
 * hold the service up. A process that ends writes the lines that are left, and how many were dropped, as far as the
 * reader takes them.
 */
export function logOutput(): { write(line: string): void; flushSync(): void } {
  let held = "";
  let timer: NodeJS.Timeout | null = null;
  let dropped = 0;
  // True while the library waits to repeat a write that failed with EAGAIN: no write is in flight, and `_writingBuf` is
  // unwritten.
  let isPutOff = false;
  const output = pino.destination({
    dest: STANDARD_OUTPUT,
    sync: false,
    maxLength: MOST_WAITING,
    retryEAGAIN: () => (isPutOff = true),
  });
  // A full disk may have room again, so a failed write is repeated. Without a listener for `error`, it would end the
  // service.
  let isTaken = true;
  output
    .on("error", () => {
      isTaken = false;
      writeSoon();
    })
    .on("write", () => {
      isTaken = true;
      isPutOff = false;
    });
  // The library's own `flushSync` repeats a failed write without end and blocks the process, which then could not even
  // exit.
  const waiting = output as unknown as Waiting;
  output.flushSync = () => {
    // Not through `output.write`, which writes in the background: the process may end first.
    const last = held + droppedLine();
    waiting._bufs.push(last);
    waiting._len += Buffer.byteLength(last);
    held = "";
    const until = performance.now() + LAST_LINES_MS;
    if (isPutOff || !waiting._writing) {
      waiting._bufs.unshift(waiting._writingBuf);
      waiting._writingBuf = "";
    } else {
      // A write is under way in another thread: its lines come first.
      pause();
    }
    isTaken = true;
    while (isTaken && waiting._bufs.length > 0) {
      const lines = Buffer.from(waiting._bufs.shift()!);
      waiting._len -= lines.length;
      isTaken = isTakenAtOnce(lines, until);
    }
  };
  output.on("drop", (lines: string) => (dropped += lines.split("\n").length - 1));
  output.on("drain", () => {
    if (dropped > 0) output.write(droppedLine());
  });
  return {
    write(line) {
      held += line;
      if (held.length >= MOST_HELD_CHARACTERS) writeHeld();
      else writeSoon();
    },
    flushSync: () => output.flushSync(),
  };

  /** The line that tells how many were dropped since it was last asked for; empty if none were. */
  function droppedLine(): string {
    if (dropped === 0) return "";
    const msg = `Nobody took the log: ${dropped} lines were dropped`;
    dropped = 0;
    return `${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`;
  }

  function writeSoon(): void {
    timer ??= setTimeout(writeHeld, AT_THE_LATEST_MS).unref();
  }

  /** Also repeats a write that failed, even if nothing is held. */
  function writeHeld(): void {
    if (timer) clearTimeout(timer);
    const lines = held;
    [held, timer] = ["", null];
    if (lines !== "" || !isTaken) output.write(lines);
  }
}

/**
 * Writes synchronously; false if not all could be written. It waits, until `until` (by `performance.now()`), only for a
 * slow reader.
 */
function isTakenAtOnce(lines: Buffer, until: number): boolean {
  for (let left = lines; left.length > 0;) {
    try {
      left = left.subarray(writeSync(STANDARD_OUTPUT, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || performance.now() > until) return false;
      pause();
    }
  }
  return true;
}

/** Stops this thread for a moment. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOKS_AGAIN_AFTER_MS);
}
