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
const MOST_COLUMNS = 40;
/** What stands beside the bar: the numbers, and how long it has been. */
const BESIDE_COLUMNS = 36;

/** A bar on `stream` while work takes longer than a second, if `stream` is a terminal and nobody forbids it. */
export function createProgress(stream: WriteStream, { isWanted }: { isWanted: boolean }): Progress {
  let timer: NodeJS.Timeout | undefined;
  let begunAt = 0;
  let bar: SingleBar | null = null;
  let last = { done: 0, total: 0 };

  async function show(): Promise<void> {
    const { default: cliProgress } = await import("cli-progress");
    if (timer === undefined || bar) return;
    bar = new cliProgress.SingleBar({
      stream,
      format: (options, { progress }) => {
        const time = cliProgress.Format.TimeFormat(secondsSince(begunAt), options, 1);
        if (last.total === 0) return `Working · ${time}`;
        const drawn = cliProgress.Format.BarFormat(progress, options);
        return `${drawn} ${last.done} of ${last.total} · ${time}`;
      },
      barsize: Math.max(Math.min(MOST_COLUMNS, (stream.columns || 80) - BESIDE_COLUMNS), 10),
      barCompleteChar: "█",
      barIncompleteChar: "░",
      // Whoever stops us with Ctrl-C gets the terminal back as it was: nothing of it is changed that must be restored.
      ...{ hideCursor: false, linewrap: true, gracefulExit: false },
      clearOnComplete: true,
    });
    bar.start(Math.max(last.total, 1), last.done);
  }

  function hide(): void {
    bar?.stop();
    bar = null;
  }

  return {
    begin() {
      if (timer !== undefined || !isWanted || !stream.isTTY) return;
      begunAt = performance.now();
      timer = setTimeout(() => void show(), SHOW_AFTER_MS).unref();
    },
    update(done, total) {
      last = { done, total };
      bar?.setTotal(Math.max(total, 1));
      bar?.update(done);
    },
    say(line) {
      // The bar is drawn anew below the line: where it stood is where it would be taken away from.
      const isShown = bar !== null;
      hide();
      stream.write(`${line}\n`);
      if (isShown) void show();
    },
    end() {
      clearTimeout(timer);
      timer = undefined;
      hide();
    },
  };
}

function secondsSince(begunAt: number): number {
  return Math.round((performance.now() - begunAt) / 1_000);
}
