import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const hasProc = process.platform === "linux";
const TICKS_PER_SECOND = hasProc ? Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })) : 0;

/** Processor time a process has used so far, in µs; NaN where there is no /proc. */
export function cpuMicrosOf(pid: number): number {
  if (!hasProc) return NaN;
  // The name in the second field may hold blanks: what we want stands 11 and 12 fields behind its closing bracket.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1_000_000;
}

/** Resident memory of a process, in MB; NaN where there is no /proc. */
export const memoryMbOf = (pid: number): number => statusMb(pid, /^VmRSS:\s+(\d+) kB/m);

/** The most that it had so far. */
export const mostMemoryMbOf = (pid: number): number => statusMb(pid, /^VmHWM:\s+(\d+) kB/m);

function statusMb(pid: number, row: RegExp): number {
  if (!hasProc) return NaN;
  const [, kilobytes] = row.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
