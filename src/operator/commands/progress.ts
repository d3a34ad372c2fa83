import type { SingleBar } from "cli-progress";
import type { WriteStream } from "node:tty";

/** The progress of work, as a bar on a terminal; elsewhere silent. */
export interface Progress {
  /** Begins the work: the bar appears after a second. */
  begin(): void;
  update(done: number, total: number): void;
  /** Writes a line above the bar. */
  say(line: string): void;
  /** Removes the bar. */
  end(): void;
}

/** Work that ends sooner shows no bar. */
const SHOW_AFTER_MS = 1_000;
const MOST_COLUMNS = 40;
/** The width of the text beside the bar: the numbers and the elapsed time. */
const BESIDE_COLUMNS = 36;

/** Shows a bar on `stream` once work takes longer than a second, if `stream` is a terminal and `isWanted` is true. */
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
      // These options leave the terminal's modes unchanged, so that nothing must be restored after Ctrl-C.
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
      // Draw the bar anew below the line: otherwise removing it would clear the place where it stood before.
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
