import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { UsedWrongly } from "../operator/errors.ts";
import { Secret } from "../secret.ts";

/**
 * Reads a secret from standard input: all of it, without the line end behind it. A person at a terminal is asked, and
 * what they type is not shown. Throws {@link UsedWrongly} if there is nothing.
 */
export async function readSecret(what: string, input: NodeJS.ReadStream = process.stdin): Promise<Secret> {
  const text = input.isTTY ? await ask(`${what} (not shown): `, input) : await readAll(input);
  const value = text.replace(/\r?\n$/, "");
  if (value === "") throw new UsedWrongly(`${what}: nothing came on standard input.`);
  return new Secret(value);
}

async function readAll(input: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}

async function ask(question: string, input: NodeJS.ReadStream): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  // Ctrl-C and Ctrl-D end the question, and with it the command.
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  process.stderr.write(question);
  try {
    return await Promise.race([lines.question(""), ended]);
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}
