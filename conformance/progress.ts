import { SingleBar } from "cli-progress";
import type { WriteStream } from "node:tty";

/** How far the run is, as a bar on a terminal; elsewhere silent. */
export interface Progress {
  step(): void;
  end(): void;
}

export function createProgress(stream: WriteStream, total: number, isWanted: boolean): Progress {
  if (!isWanted || !stream.isTTY) return { step: () => undefined, end: () => undefined };
  const bar = new SingleBar({
    stream,
    format: "{bar} {value} of {total} rules · {duration_formatted}",
    barsize: 40,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    clearOnComplete: true,
    // Whoever stops us with Ctrl-C gets the terminal back as it was: nothing of it is changed that must be restored.
    ...{ hideCursor: false, linewrap: true, gracefulExit: false },
  });
  bar.start(total, 0);
  return { step: () => bar.increment(), end: () => bar.stop() };
}
