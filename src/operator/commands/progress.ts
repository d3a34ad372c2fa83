import { clearLine, cursorTo } from "node:readline";
import type { WriteStream } from "node:tty";

/** Work that ends sooner shows no bar. */
const SHOW_AFTER_MS = 1_000;
const DRAW_EVERY_MS = 200;
const BAR_COLUMNS = 20;

/** The progress of work that takes more than a second, as a bar in the last line of a terminal; elsewhere silent. */
export function createProgress(stream: WriteStream, { isWanted }: { isWanted: boolean }) {
  let begunAt = 0;
  let [done, total] = [0, 0];
  let isDrawn = false;
  let timer: NodeJS.Timeout | undefined;

  function draw(): void {
    const ms = performance.now() - begunAt;
    if (ms < SHOW_AFTER_MS) return;
    wipe();
    const full = Math.round((Math.min(done, total) / Math.max(total, 1)) * BAR_COLUMNS);
    const bar = `${"█".repeat(full)}${"░".repeat(BAR_COLUMNS - full)} ${done} of ${total}`;
    stream.write(`${total === 0 ? "Working" : bar} · ${Math.round(ms / 1_000)}s`);
    isDrawn = true;
  }

  function wipe(): void {
    if (!isDrawn) return;
    cursorTo(stream, 0);
    clearLine(stream, 0);
    isDrawn = false;
  }

  return {
    begin(): void {
      begunAt = performance.now();
      if (isWanted && stream.isTTY) timer ??= setInterval(draw, DRAW_EVERY_MS).unref();
    },
    update: (now: number, of: number): void => void ([done, total] = [now, of]),
    /** Writes a line above the bar. */
    say(line: string): void {
      wipe();
      stream.write(`${line}\n`);
    },
    /** Removes the bar, until the next `begin`. */
    end(): void {
      clearInterval(timer);
      timer = undefined;
      wipe();
    },
  };
}
