import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { InputLine } from "../import/import-resources.ts";

/**
 * Yields the lines of `input` as they arrive; `text` is null if one is not UTF-8. Once `signal` is aborted they end with
 * the last complete line, even while the next is awaited.
 */
export async function* inputLines(signal: AbortSignal, input: Readable): AsyncGenerator<InputLine> {
  let number = 0;
  for await (const text of createInterface({ input, signal, crlfDelay: Infinity })) {
    if (signal.aborted) return;
    yield { number: (number += 1), text: text.includes("\ufffd") ? null : text };
  }
}
