import { createInterface } from "node:readline/promises";
import { UsedWrongly } from "../errors.ts";
import type { Host } from "./host.ts";

/** Throws {@link UsedWrongly} if no person can be asked. */
export function checkSomebodyIsThere(host: Host, { mayAsk }: { mayAsk: boolean }): void {
  if (!mayAsk || !host.stdin.isTTY || !host.stderr.isTTY)
    throw new UsedWrongly("Nothing was changed: nobody is here to be asked. Say --yes to do it.");
}

/**
 * Asks a question that is answered with y or n. Anything but yes counts as no, also Ctrl-C and Ctrl-D. Throws {@link
 * UsedWrongly} if no person can be asked.
 */
export async function askYesOrNo(host: Host, question: string, how: { mayAsk: boolean }): Promise<boolean> {
  checkSomebodyIsThere(host, how);
  const { stdin: input, stderr: output } = host;
  const lines = createInterface({ input, output });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    return /^y(es)?$/i.test((await Promise.race([lines.question(`${question} (y/N) `), ended])).trim());
  } finally {
    lines.close();
  }
}
