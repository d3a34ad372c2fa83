import { execFileSync, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Which processor a process may use: the service alone on the first, everything that loads or serves it on the rest. */
export interface Pinning {
  /** For people, at the head of the report. */
  says: string;
  /** The words before a command that starts the service, or a floor in its place. */
  forService: readonly string[];
  /** The same for processes that may run anywhere. */
  forAnybody: readonly string[];
}

/** Pins this process, and so all it starts, apart from the service. Without `taskset` or a second processor nobody is pinned. */
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
