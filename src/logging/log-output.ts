import fs from "node:fs";

const STANDARD_OUTPUT = 1;
/** At most this many bytes wait for a reader; further lines are dropped and only counted. */
const MOST_WAITING = 8_000_000;
/** Lines are written together once they come to this many characters, or after this long. */
const MOST_HELD_CHARACTERS = 16_000;
const AT_THE_LATEST_MS = 50;
/** How long a process that ends waits for the reader to take its last lines. */
const LAST_LINES_MS = 2_000;
const LOOKS_AGAIN_AFTER_MS = 20;

/**
 * Standard output, for the log. What cannot be written at once, because the reader is slow or gone or the disk is full,
 * waits in memory and is tried again: it does not hold the service up. A process that ends writes the lines that are
 * left, and how many were dropped, as far as the reader takes them.
 */
export function logOutput(): { write(line: string): void; flushSync(): void } {
  // Node makes a pipe non-blocking when its stream is made: a full one then refuses a write instead of blocking it.
  void process.stdout;
  let held = "";
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  let dropped = 0;
  let timer: NodeJS.Timeout | null = null;

  /** Writes what waits as far as it is taken. Returns null, or the error that stopped it. */
  function writeWaiting(): NodeJS.ErrnoException | null {
    try {
      while (waiting[0]) {
        const written = fs.writeSync(STANDARD_OUTPUT, waiting[0]);
        waitingBytes -= written;
        waiting[0] = waiting[0].subarray(written);
        if (waiting[0].length === 0) waiting.shift();
      }
      return null;
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
  }

  function enqueue(lines: string): void {
    if (lines === "") return;
    const bytes = Buffer.from(lines);
    waiting.push(bytes);
    waitingBytes += bytes.length;
  }

  function enqueueHeld(): void {
    enqueue(held);
    held = "";
  }

  /** Enqueues a line with how many lines were dropped since the last such one, if any were. */
  function enqueueDropped(): void {
    if (dropped === 0) return;
    const msg = `Nobody took the log: ${dropped} lines were dropped`;
    dropped = 0;
    enqueue(`${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`);
  }

  function writeNow(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    enqueueHeld();
    const before = waitingBytes;
    if (!writeWaiting()) enqueueDropped();
    // A reader that takes something takes more in a moment.
    if (writeWaiting()) writeSoon(waitingBytes < before ? 1 : AT_THE_LATEST_MS);
  }

  function writeSoon(ms = AT_THE_LATEST_MS): void {
    timer ??= setTimeout(writeNow, ms).unref();
  }

  function flushSync(): void {
    const until = performance.now() + LAST_LINES_MS;
    enqueueHeld();
    enqueueDropped();
    while (writeWaiting()?.code === "EAGAIN" && performance.now() < until) pause();
  }

  process.on("exit", flushSync);
  return {
    write(line) {
      if (waitingBytes + held.length > MOST_WAITING) return void (dropped += 1);
      held += line;
      if (held.length >= MOST_HELD_CHARACTERS) writeNow();
      else writeSoon();
    },
    flushSync,
  };
}

/** Stops this thread for a moment. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOKS_AGAIN_AFTER_MS);
}
