import { addAbortSignal, type Readable } from "node:stream";
import type { InputLine } from "../operator/import/import-resources.ts";

/** A line holds a JSON object with a uuid, a plan, a region and a name; a longer line is invalid. */
const LONGEST_LINE_BYTES = 64_000;
const LINE_END = 0x0a;

/**
 * Yields the lines of `input` as they arrive. Each is decoded as UTF-8 by itself, so that an invalid one does
 * not affect the others. Once `signal` is aborted they end with the last complete line, even while the next is awaited.
 */
export async function* inputLines(signal: AbortSignal, input: Readable): AsyncGenerator<InputLine> {
  let number = 0;
  let parts: Buffer[] = [];
  let bytes = 0;

  /** Of a line that is too long, only the length is kept. */
  function keep(part: Buffer): void {
    bytes += part.length;
    if (bytes > LONGEST_LINE_BYTES) parts = [];
    else parts.push(part);
  }

  function end(): InputLine {
    const text = bytes > LONGEST_LINE_BYTES ? null : decoded(Buffer.concat(parts));
    parts = [];
    bytes = 0;
    return { number: (number += 1), text };
  }

  for await (const chunk of untilStopped(input, signal)) {
    let rest = Buffer.from(chunk);
    for (let at = rest.indexOf(LINE_END); at >= 0; at = rest.indexOf(LINE_END)) {
      keep(rest.subarray(0, at));
      yield end();
      rest = rest.subarray(at + 1);
    }
    keep(rest);
  }
  if (bytes > 0 && !signal.aborted) yield end();
}

async function* untilStopped(input: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* addAbortSignal(signal, input) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function decoded(line: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(line);
  } catch {
    return null;
  }
}
