import { counted, some } from "./wording.ts";

// Long work, and what came of it.

/** Called while long work makes progress. `total` is 0 as long as it is not known. */
type OnProgress = (done: number, total: number) => void;

/** What long work needs besides its context. It ends soon after `signal` is aborted: calls in flight finish first. */
export interface How {
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

/** The result of work on many resources: each is in one of the three lists, or counted in `left`. */
export interface Report {
  done: string[];
  failed: { uuid: string; id: string; message: string }[];
  skipped: { uuid: string; reason: string }[];
  /** How many were not begun because the work was stopped; absent if none. */
  left?: number;
  /** Of all resources, how many have a call under way, which was left alone; absent if none. */
  underWay?: number;
}

export function isWhole({ failed, left = 0 }: Report): boolean {
  return failed.length + left === 0;
}

/** Whether a signal or the stop of the process has left some of it. */
export function wasInterrupted({ left = 0 }: Report, { signal }: Pick<How, "signal">): boolean {
  return left > 0 && signal.aborted;
}

/** A report in words; `doneWord` names the success, such as "refreshed". */
export function reportInWords({ done, failed, skipped, left, underWay }: Report, doneWord: string): string {
  return [
    ...some(failed, ({ uuid, message }) => `✗ ${uuid}  ${message}`),
    ...some(skipped, ({ uuid, reason }) => `– ${uuid}  skipped: ${reason}`),
    ...(underWay
      ? [
          `! ${counted(underWay, "resource")} with a call under way left alone: kit steps cut-off --all takes them, too.`,
        ]
      : []),
    ...(left ? [`Stopped: ${counted(left, "resource")} left.`] : []),
    `${done.length} ${doneWord}, ${failed.length} failed, ${skipped.length} skipped.`,
  ].join("\n");
}
