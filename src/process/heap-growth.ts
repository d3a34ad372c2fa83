import { setFlagsFromString } from "node:v8";

/**
 * Keeps the heap of this process small from now on. On a machine with plenty of memory, V8 lets the heap grow to as
 * much as four times its live data before it collects garbage: under load that is 80 MB of garbage more, on a machine
 * that may run other processes too. With this flag V8 collects when the heap has grown by 60% since the last
 * collection, as it does by default on a small machine. No heap limit is set, so no process can run into one.
 */
export function growHeapSlowly(): void {
  setFlagsFromString("--heap-growing-percent=60");
}
