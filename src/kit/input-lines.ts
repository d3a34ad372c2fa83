import type { InputLine } from "../operator/import/import-resources.ts";

/** A line of JSON with a uuid, a plan and a name; what is longer is none of ours. */
const LONGEST_LINE_BYTES = 64_000;
const LINE_END = 0x0a;

/** The lines of standard input as they come, each read as UTF-8 by itself, so that a broken one spoils no other. */
export async function* inputLines(
  input: AsyncIterable<Uint8Array | string> = process.stdin,
): AsyncGenerator<InputLine> {
  let number = 0;
  let parts: Buffer[] = [];
  let bytes = 0;

  /** Of a line that is too long only its length is kept. */
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

  for await (const chunk of input) {
    let rest = Buffer.from(chunk as Uint8Array);
    for (let at = rest.indexOf(LINE_END); at >= 0; at = rest.indexOf(LINE_END)) {
      keep(rest.subarray(0, at));
      yield end();
      rest = rest.subarray(at + 1);
    }
    keep(rest);
  }
  if (bytes > 0) yield end();
}

function decoded(line: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(line);
  } catch {
    return null;
  }
}
