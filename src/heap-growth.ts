import { setFlagsFromString } from "node:v8";

/**
 * Keeps a process small, from when it is called. Where a machine has plenty of memory, V8 lets the heap grow to as much as
 * four times what is alive in it before it looks what may go: under load that is 80 MB of garbage more, on a machine that
 * may have to hold others. With this it looks when there is three fifths more than it left the last time, as it does by
 * itself on a small machine; no limit is set, so that nobody runs into one.
 */
export function growHeapSlowly(): void {
  setFlagsFromString("--heap-growing-percent=60");
}
