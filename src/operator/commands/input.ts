import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { KitError } from "../../errors.ts";
import { Secret } from "../../secret.ts";
import { UsedWrongly } from "../errors.ts";
import type { Host } from "./host.ts";

/** The operator was asked, and said no or cancelled. */
const notConfirmed = () => new KitError("not_confirmed", "Nothing was changed.");

/** Asks the person at the terminal. Throws `not_confirmed` unless they say yes. */
export async function askYes(host: Host, question: string): Promise<void> {
  if (!/^y(es)?$/i.test((await asked(host, `${question} (y/N) `, true)).trim())) throw notConfirmed();
}

/** The input may end with a line end. */
const LINE_END_BYTES = 2;

/**
 * Reads a secret from standard input, without a trailing line end; a person at a terminal is asked, without an echo.
 * Throws `UsedWrongly` if it is empty, and `not_confirmed` if a person cancels.
 */
export async function readSecret(host: Host, what: string, mostBytes: number): Promise<Secret> {
  const typed = host.stdin.isTTY
    ? await asked(host, `${what} (not shown): `, false)
    : (await readUpTo(host.stdin, mostBytes + LINE_END_BYTES)).toString("utf8");
  const value = typed.replace(/\r?\n$/, "");
  if (value === "") throw new UsedWrongly(`${what}: nothing came on standard input.`);
  return new Secret(value);
}

/** What a person types after a question. Throws `not_confirmed` if they cancel it with Ctrl-C or Ctrl-D. */
async function asked({ stdin: input, stderr }: Host, question: string, isShown: boolean): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: isShown ? stderr : nowhere, terminal: true });
  const cancelled = new Promise<never>((_, reject) => lines.once("close", () => reject(notConfirmed())));
  if (!isShown) stderr.write(question);
  try {
    return await Promise.race([lines.question(isShown ? question : ""), cancelled]);
  } finally {
    lines.close();
    if (!isShown) stderr.write("\n");
  }
}

/** Reads at least the first `mostBytes` of the input, to its end if it is not longer. */
async function readUpTo(input: AsyncIterable<unknown>, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk as Uint8Array));
    if ((bytes += chunks.at(-1)!.length) > mostBytes) break;
  }
  return Buffer.concat(chunks);
}
