import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { KitError } from "../../errors.ts";
import { UsedWrongly } from "../errors.ts";
import { Secret } from "../../secret.ts";
import type { Host } from "./host.ts";

/** The input may end with a line end. */
const LINE_END_BYTES = 2;

/** The operator was asked for a value, and cancelled. */
export class NotGiven extends KitError {
  constructor() {
    super("not_confirmed", "Nothing was changed.");
  }
}

/**
 * Reads a secret from standard input, to its end, without a trailing line end. Throws {@link UsedWrongly} if it is
 * empty, and what `readStandardInput` throws.
 */
export async function readSecret(host: Host, what: string): Promise<Secret> {
  const value = (await readStandardInput(host, what)).replace(/\r?\n$/, "");
  if (value === "") throw new UsedWrongly(`${what}: nothing came on standard input.`);
  return new Secret(value);
}

/**
 * Reads standard input, and stops reading once there is more than `mostBytes`. A person at a terminal is asked, without
 * an echo of what they type. Throws {@link NotGiven} if they cancel.
 */
export async function readStandardInput(
  host: Host,
  what: string,
  { mostBytes = Infinity }: { mostBytes?: number } = {},
): Promise<string> {
  const { stdin } = host;
  return stdin.isTTY ? ask(host, `${what} (not shown): `) : readAll(stdin, mostBytes + LINE_END_BYTES);
}

async function readAll(input: NodeJS.ReadStream, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk as Uint8Array));
    if ((bytes += chunks.at(-1)!.length) > mostBytes) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function ask({ stdin: input, stderr }: Host, question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  // Ctrl-C and Ctrl-D cancel the question, and with it the command.
  const ended = new Promise<null>((resolve) => lines.once("close", () => resolve(null)));
  stderr.write(question);
  try {
    const typed = await Promise.race([lines.question(""), ended]);
    if (typed === null) throw new NotGiven();
    return typed;
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
