import fs from "node:fs";
import { counted } from "../amounts.ts";

const STANDARD_OUTPUT = 1;
/** At most this many characters wait for a reader; further lines are dropped and only counted. */
const MOST_WAITING = 8_000_000;
/** Lines are written together once they come to this many characters, or after this long. */
const ENOUGH_CHARACTERS = 16_000;
const AT_THE_LATEST_MS = 50;
/** Pause before the next try. */
const TAKES_MORE_AFTER_MS = 5;
/** How long a process that ends waits for the reader to take its last lines. */
const LAST_LINES_MS = 2_000;

/**
 * Standard output, for the log. What cannot be written at once (a slow reader, a full disk) waits in memory and is tried
 * again. A process that ends writes the lines that are left, and how many were dropped, as far as the reader takes them.
 */
export function logOutput(): { write(line: string): void; flushSync(): void } {
  // Node makes a pipe non-blocking when its stream is made: a full one then refuses a write instead of blocking it.
  void process.stdout;
  let lines = "";
  let begun = Buffer.alloc(0);
  let dropped = 0;
  let timer: NodeJS.Timeout | null = null;

  /** Writes until nothing is left. Returns null, or the error that stopped it. */
  function writeAll(): NodeJS.ErrnoException | null {
    try {
      for (;;) {
        while (begun.length > 0) begun = begun.subarray(fs.writeSync(STANDARD_OUTPUT, begun));
        if (lines === "") lines = droppedLine();
        if (lines === "") return null;
        begun = Buffer.from(lines);
        lines = "";
      }
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
  }

  /** Empty if none was dropped since the last such line. */
  function droppedLine(): string {
    if (dropped === 0) return "";
    const msg = `Nobody took the log: ${counted(dropped, "line")} ${dropped === 1 ? "was" : "were"} dropped`;
    dropped = 0;
    return `${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`;
  }

  function writeNow(): void {
    if (timer) clearTimeout(timer);
    timer = writeAll() ? setTimeout(writeNow, TAKES_MORE_AFTER_MS).unref() : null;
  }

  function flushSync(): void {
    const until = performance.now() + LAST_LINES_MS;
    const thread = new Int32Array(new SharedArrayBuffer(4));
    while (writeAll()?.code === "EAGAIN" && performance.now() < until)
      Atomics.wait(thread, 0, 0, TAKES_MORE_AFTER_MS);
  }

  process.on("exit", flushSync);
  return {
    write(line) {
      if (begun.length + lines.length > MOST_WAITING) return void (dropped += 1);
      lines += line;
      if (begun.length === 0 && lines.length >= ENOUGH_CHARACTERS) writeNow();
      else timer ??= setTimeout(writeNow, AT_THE_LATEST_MS).unref();
    },
    flushSync,
  };
}
