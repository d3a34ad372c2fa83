import { randomUUID } from "node:crypto";
import type { Table } from "../world/table.ts";
import { checkFault } from "./fault-check.ts";

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

export interface Faults {
  add(fault: Fault): Fault;
  /** The action for a call, if a fault is due; this uses up one of its `times`. */
  take(direction: "in" | "out", method: string, path: string): FaultAction | undefined;
  pending(): Fault[];
  clear(): void;
}

/**
 * The faults of one sandbox. If several match a call, the one added first is used first. `onTaken` is called when a
 * fault was used, whatever the outcome of the call.
 */
export function createFaults(rows: Table<FaultRecord>, onTaken: () => void): Faults {
  return {
    add(fault) {
      const { match, times, action } = checkFault(fault);
      rows.add({ id: randomUUID(), match, times, action });
      return { match, times, action };
    },
    take(direction, method, path) {
      const due = rows.all().find(({ match }) => isMatch(match, direction, `${method} ${path}`));
      if (!due) return undefined;
      due.times -= 1;
      if (due.times <= 0) rows.remove(due);
      onTaken();
      return due.action;
    },
    pending: () => rows.all().map(({ match, times, action }) => ({ match, times, action })),
    clear: () => rows.clear(),
  };
}

function isMatch(match: string, direction: "in" | "out", call: string): boolean {
  const isOut = match.trim().startsWith(">");
  if (isOut !== (direction === "out")) return false;
  const wanted = match.trim().replace(/^>\s*/, "");
  const withMethod = wanted.startsWith("/") ? `* ${wanted}` : wanted.replace(/\s+/, " ");
  const pattern = withMethod.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*");
  return new RegExp(`^${pattern}$`, "i").test(call);
}
