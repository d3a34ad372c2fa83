import type { Readable } from "node:stream";
import { UsedWrongly } from "../errors.ts";

/** A line of an export may hold 10,000 events, and what your service keeps. */
const MOST_MIB = 16;
const MOST_CHARACTERS = MOST_MIB * 1024 * 1024;
const LINE_END = /\r\n|\n|\r/;

/**
 * The lines of standard input, until `signal` is aborted. Throws {@link UsedWrongly} for one that is too long to be held: what
 * has no line ends would fill the memory.
 */
export async function* inputLines(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
  const stop = () => void input.destroy();
  signal.addEventListener("abort", stop);
  let [line, pending, heldBack] = [0, "", ""];
  const counted = (text: string) => {
    line += 1;
    if (text.length > MOST_CHARACTERS) throw tooLong(line);
    return text;
  };
  try {
    for await (const chunk of input.setEncoding("utf8")) {
      let text = heldBack + String(chunk);
      // The other half of the line's end may be in the next chunk.
      heldBack = text.endsWith("\r") ? "\r" : "";
      if (heldBack) text = text.slice(0, -1);
      const parts = text.split(LINE_END);
      parts[0] = pending + parts[0]!;
      pending = parts.pop()!;
      for (const part of parts) yield counted(part);
      if (pending.length > MOST_CHARACTERS) throw tooLong(line + 1);
    }
    if (pending !== "" || heldBack !== "") yield counted(pending);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const tooLong = (line: number) =>
  new UsedWrongly(
    `Line ${line} on standard input is longer than ${MOST_MIB} MiB. Does each resource have a line of its own?`,
  );
