import type { SingleBar } from "cli-progress";
import type { WriteStream } from "node:tty";

/** How work goes on, as a bar on the terminal; elsewhere silent. */
export interface Progress {
  /** Begins: after a second, the bar shows. */
  begin(): void;
  update(done: number, total: number): void;
  /** Writes a line above the bar. */
  say(line: string): void;
  /** Takes the bar away. */
  end(): void;
}

/** What is over sooner needs no bar. */
const SHOW_AFTER_MS = 1_000;

/** A bar on `stream` while work takes longer than a second, if `stream` is a terminal and nobody forbids it. */
export function createProgress(stream: WriteStream, { isWanted }: { isWanted: boolean }): Progress {
  let timer: NodeJS.Timeout | undefined;
  let bar: SingleBar | null = null;
  let last = { done: 0, total: 1 };

  async function show(): Promise<void> {
    const { default: cliProgress } = await import("cli-progress");
    if (timer === undefined) return;
    bar = new cliProgress.SingleBar({
      stream,
      format: "{bar} {value} of {total} · {duration_formatted}",
      barsize: 40,
      barCompleteChar: "█",
      barIncompleteChar: "░",
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
    });
    bar.start(last.total, last.done);
  }

  return {
    begin() {
      if (isWanted && stream.isTTY) timer ??= setTimeout(() => void show(), SHOW_AFTER_MS).unref();
    },
    update(done, total) {
      last = { done, total: Math.max(total, 1) };
      bar?.setTotal(last.total);
      bar?.update(done);
    },
    say(line) {
      if (bar) stream.write("\r\u001b[K");
      stream.write(`${line}\n`);
    },
    end() {
      clearTimeout(timer);
      timer = undefined;
      bar?.stop();
      bar = null;
    },
  };
}
