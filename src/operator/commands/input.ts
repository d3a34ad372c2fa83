import { createReadStream } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { KitError, messageOf } from "../../errors.ts";
import type { Host } from "./host.ts";

/** A file or standard input cannot be read. */
class Unreadable extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("unreadable", message, options);
  }
}

/** What a person types after a question; null if they cancel it with Ctrl-C or Ctrl-D. */
export async function asked(
  { stdin: input, stderr }: Host,
  question: string,
  isShown: boolean,
): Promise<string | null> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: isShown ? stderr : nowhere, terminal: true });
  const ended = new Promise<null>((resolve) => lines.once("close", () => resolve(null)));
  if (!isShown) stderr.write(question);
  try {
    return await Promise.race([lines.question(isShown ? question : ""), ended]);
  } finally {
    lines.close();
    if (!isShown) stderr.write("\n");
  }
}

/** Reads at least the first `mostBytes` of the input, to its end if it is not longer. */
export async function readUpTo(input: AsyncIterable<unknown>, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk as Uint8Array));
    if ((bytes += chunks.at(-1)!.length) > mostBytes) break;
  }
  return Buffer.concat(chunks);
}

/** Reads a whole file, or standard input for "-". Throws `Unreadable`, also if there is more than `mostBytes`. */
export async function readInputFile(name: string, mostBytes: number, { stdin }: Host): Promise<Buffer> {
  const named = name === "-" ? "Standard input" : `The file ${name}`;
  const bytes = await readUpTo(name === "-" ? stdin : createReadStream(name), mostBytes).catch(
    (error: unknown) => {
      throw new Unreadable(`${named} cannot be read: ${messageOf(error)}.`, { cause: error });
    },
  );
  if (bytes.length > mostBytes) throw new Unreadable(`${named} is larger than ${mostBytes / 1024} KiB.`);
  return bytes;
}
