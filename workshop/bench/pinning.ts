import { execFileSync, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/**
 * Which processors a process may use: the service has the first to itself, the load, the platform and the database
 * share the rest.
 */
export interface Pinning {
  /** A sentence for the head of the report. */
  says: string;
  /** The command prefix that pins the service, or a floor in its place. */
  forService: readonly string[];
  /** The prefix for processes that may run on any processor. */
  forAnybody: readonly string[];
}

/**
 * Pins this process, and so its children, apart from the service. Without `taskset` or a second processor, nothing is
 * pinned.
 */
export function pinApart(): Pinning {
  const last = availableParallelism() - 1;
  if (last < 1) return { says: "one processor, shared by all", forService: [], forAnybody: [] };
  if (spawnSync("taskset", ["--version"]).status !== 0)
    return { says: "not pinned: there is no taskset here", forService: [], forAnybody: [] };
  const rest = last === 1 ? "1" : `1-${last}`;
  execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", rest, String(process.pid)], {
    stdio: "ignore",
  });
  return {
    says: `service on processor 0; load, platform and database on ${rest}`,
    forService: ["taskset", "--cpu-list", "0"],
    forAnybody: ["taskset", "--cpu-list", `0-${last}`],
  };
}
