import { createReadStream } from "node:fs";
import { KitError, messageOf } from "../../errors.ts";
import type { Host } from "./host.ts";

/** The input cannot be read. */
export class Unreadable extends KitError {
  constructor(message: string, options?: ErrorOptions) {
    super("unreadable", message, options);
  }
}

/**
 * Reads a whole file, or standard input for "-". Stops after `mostBytes`, and throws {@link Unreadable} if there is
 * more.
 */
export async function readInputFile(name: string, mostBytes: number, { stdin }: Host): Promise<Buffer> {
  const named = name === "-" ? "Standard input" : `The file ${name}`;
  const input = name === "-" ? stdin : createReadStream(name);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of input) {
      chunks.push(Buffer.from(chunk as Uint8Array));
      bytes += (chunk as Uint8Array).length;
      if (bytes > mostBytes) break;
    }
  } catch (error) {
    throw new Unreadable(`${named} cannot be read: ${messageOf(error)}.`, { cause: error });
  }
  if (bytes > mostBytes) throw new Unreadable(`${named} is larger than ${mostBytes / 1024} KiB.`);
  return Buffer.concat(chunks);
}

export function nameOfInput(name: string): string {
  return name === "-" ? "standard input" : name;
}
