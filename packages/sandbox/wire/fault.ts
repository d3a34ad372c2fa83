/** What happens to a call instead of, or in addition to, the usual. Members may be combined with `delayMs`. */
export interface FaultAction {
  /** Answered with this status without any work; a call to the service does not reach it. */
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** Waits this many ms first. */
  delayMs?: number;
  /** Never answered. `true` and `"before"`: no work is done; `"after"`: the work is done. */
  hang?: true | "before" | "after";
  /** The connection is cut: before the work, or after it, so that only the answer is lost. */
  reset?: "before" | "after";
  /** The work is done, and half of the answer's body arrives before the connection is cut. */
  truncate?: true;
  /** The same call is made twice; for a call to the service, both at the same moment. */
  duplicate?: true;
  /**
   * What the platform sends, its answer or its request, is sent byte by byte, with this many milliseconds after each.
   */
  drip?: number;
}

export interface Fault {
  /** `"METHOD /path"`, where `*` matches any text; a leading `>` means calls to the service. */
  match: string;
  times: number;
  action: FaultAction;
}

/** A fault as it is stored, also across a restart. */
export interface FaultRecord extends Fault {
  id: string;
}
