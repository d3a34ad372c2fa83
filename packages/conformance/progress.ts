import type { WriteStream } from "node:tty";
import { SingleBar } from "cli-progress";

/** The progress of the run as a bar on a terminal; nothing is shown elsewhere. */
export interface Progress {
  step(): void;
  /** Shows a sentence on a line of its own. */
  note(sentence: string): void;
  end(): void;
}

export function createProgress(stream: WriteStream, total: number, isWanted: boolean): Progress {
  const line = (sentence: string) => void stream.write(`${sentence}\n`);
  if (!isWanted || !stream.isTTY) return { step: () => undefined, note: line, end: () => undefined };
  const bar = new SingleBar({
    stream,
    format: "{bar} {value} of {total} rules · {duration_formatted}",
    barsize: 40,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    clearOnComplete: true,
    // The bar changes no terminal setting, so that Ctrl-C leaves the terminal as it was.
    ...{ hideCursor: false, linewrap: true, gracefulExit: false },
  });
  bar.start(total, 0);
  return {
    step: () => bar.increment(),
    // The bar draws itself again below.
    note: (sentence) => line(`\r\u001b[2K${sentence}`),
    end: () => bar.stop(),
  };
}
