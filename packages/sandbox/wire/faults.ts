import { randomUUID } from "node:crypto";
import type { Table } from "../world/table.ts";
import type { Fault, FaultAction, FaultRecord } from "./fault.ts";
import { checkFault } from "./fault-check.ts";
import { isMatch } from "./match.ts";

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
