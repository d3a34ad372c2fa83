import type { TokenReport } from "../../tokens.ts";
import type { ActionResult } from "../work/action-runner.ts";

/** The message names at most this many failed resources; the rest can be found in the list of resources. */
const NAMED = 5;

/** A report in words; `verb` says what was done, such as "refreshed". */
export function inWords(
  { done, failed, skipped }: TokenReport,
  verb: string,
  signal: AbortSignal,
): ActionResult {
  const reasons = [...new Set(skipped.map(({ reason }) => reason))].join(", ");
  const parts = [
    `${done.length} ${verb}.`,
    ...(skipped.length > 0 ? [`${skipped.length} left out (${reasons}).`] : []),
    ...(failed.length > 0 ? [`${failed.length} failed:`] : []),
    ...failed.slice(0, NAMED).map(({ uuid, message }) => `${uuid}: ${message}`),
    ...(failed.length > NAMED ? ["… and others."] : []),
    ...(signal.aborted
      ? ["Stopped, because the service stops. Begin it again: it goes on with the rest."]
      : []),
  ];
  return { isDone: failed.length === 0 && !signal.aborted, message: parts.join("\n") };
}
