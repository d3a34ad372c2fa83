import { invalid } from "../refusal.ts";

/** What happens to a call instead of, or in addition to, the usual. Members may be combined with `delayMs`. */
export interface FaultAction {
  /** Answered with this and no work is done; a call to the service does not reach it. */
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** Waits before anything else. */
  delayMs?: number;
  /** Never answered. `true` and `"before"`: no work is done; `"after"`: the work is done. */
  hang?: true | "before" | "after";
  /** The connection is cut: before the work, or after it, so that only the answer is lost. */
  reset?: "before" | "after";
  /** The work is done, and half of the answer's body arrives before the connection is cut. */
  truncate?: true;
  /** The same call is made twice; a call to the service at the same moment. */
  duplicate?: true;
}

export interface Fault {
  /** `"METHOD /path"`, either with `*`; a leading `>` means calls to the service. */
  match: string;
  times: number;
  action: FaultAction;
}

export interface Faults {
  add(fault: Fault): Fault;
  /** The action for a call, if one is due; counts it. */
  take(direction: "in" | "out", method: string, path: string): FaultAction | undefined;
  pending(): Fault[];
  clear(): void;
}

const members = ["status", "body", "headers", "delayMs", "hang", "reset", "truncate", "duplicate"];

/** The faults of one sandbox; of several that match, the first added is used up first. */
export function createFaults(): Faults {
  let faults: { fault: Fault; direction: "in" | "out"; pattern: RegExp }[] = [];
  return {
    add(fault) {
      checkFault(fault);
      const match = fault.match.trim();
      const direction = match.startsWith(">") ? "out" : "in";
      faults.push({ fault: { ...fault }, direction, pattern: patternOf(match.replace(/^>\s*/, "")) });
      return fault;
    },
    take(direction, method, path) {
      if (faults.length === 0) return undefined;
      const call = `${method} ${path}`;
      const due = faults.find((one) => one.direction === direction && one.pattern.test(call));
      if (!due) return undefined;
      due.fault.times -= 1;
      if (due.fault.times <= 0) faults = faults.filter((one) => one !== due);
      return due.fault.action;
    },
    pending: () => faults.map(({ fault }) => ({ ...fault })),
    clear: () => void (faults = []),
  };
}

function patternOf(match: string): RegExp {
  const withMethod = match.startsWith("/") ? `* ${match}` : match.replace(/\s+/, " ");
  return new RegExp(`^${withMethod.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*")}$`, "i");
}

function checkFault({ match, times, action }: Fault): void {
  if (typeof match !== "string" || !/^(>\s*)?([A-Za-z*]+\s+)?\//.test(match.trim())) {
    throw invalid('match must look like "POST /oauth/token", "* /addons/*" or "> POST /resources".');
  }
  if (!Number.isInteger(times) || times < 1) throw invalid("times must be a whole number from 1.");
  const names = typeof action === "object" && action !== null ? Object.keys(action) : [];
  const unknown = names.filter((name) => !members.includes(name));
  if (names.length === 0 || unknown.length > 0) {
    throw invalid(`action must be an object with some of: ${members.join(", ")}.`);
  }
  if (action.status === undefined && (action.body !== undefined || action.headers !== undefined)) {
    throw invalid("body and headers need a status.");
  }
  if (action.reset !== undefined && !["before", "after"].includes(action.reset)) {
    throw invalid('reset must be "before" or "after".');
  }
}
