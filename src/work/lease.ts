import type { Context } from "../context.ts";
import { holdStep } from "./queue.ts";
import { LONGEST_STEP_MS, STEP_LEASE_SECONDS, type Step } from "./step.ts";

/** Thrown into work that is cut off because the process stops; nothing is wrong with the work. */
export class Stopped extends Error {
  constructor() {
    super("The process stops; another one goes on.");
  }
}

/**
 * Keeps a step's lease while `work` runs, and aborts `work` when the lease is lost (the resource was deprovisioned, or
 * this process was overtaken), after 10 minutes, or when `cut` is aborted. Rejects with the reason then, also if the work
 * does not.
 */
export async function holding<Result>(
  { db, log }: Pick<Context, "db" | "log">,
  step: Step,
  cut: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  cut.throwIfAborted();
  const wanted = new AbortController();
  let end!: (reason: unknown) => void;
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      wanted.abort(reason);
      reject(reason);
    };
  });
  // Nobody may be waiting for it yet, or any more.
  ended.catch(() => undefined);
  const extend = () =>
    holdStep(db, step).then(
      (isOurs) => isOurs || end(new Error("The step is no longer ours, or no longer wanted.")),
      (error: unknown) =>
        log.warn({ uuid: step.resource.uuid, error }, "A step's lease could not be extended"),
    );
  const beat = setInterval(extend, (STEP_LEASE_SECONDS * 1000) / 3);
  const limit = setTimeout(() => end(new Error("The step took too long.")), LONGEST_STEP_MS);
  const cutOff = () => end(cut.reason);
  cut.addEventListener("abort", cutOff);
  try {
    return await Promise.race([work(wanted.signal), ended]);
  } finally {
    cut.removeEventListener("abort", cutOff);
    clearInterval(beat);
    clearTimeout(limit);
  }
}
