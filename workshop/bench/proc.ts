import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const hasProc = process.platform === "linux";
const TICKS_PER_SECOND = hasProc ? Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })) : 0;

/** The processor time that a process has used so far, in µs; NaN where there is no /proc. */
export function cpuMicrosOf(pid: number): number {
  if (!hasProc) return NaN;
  // The second field, the name, may contain blanks: the user and system times are fields 11 and 12 after its closing
  // bracket.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1_000_000;
}

/** The resident memory of a process, in MB; NaN where there is no /proc. */
export const memoryMbOf = (pid: number): number => statusMb(pid, /^VmRSS:\s+(\d+) kB/m);

/** Its peak so far, in MB; NaN where there is no /proc. */
export const mostMemoryMbOf = (pid: number): number => statusMb(pid, /^VmHWM:\s+(\d+) kB/m);

function statusMb(pid: number, row: RegExp): number {
  if (!hasProc) return NaN;
  const [, kilobytes] = row.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
