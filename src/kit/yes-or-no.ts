import { createInterface } from "node:readline/promises";
import { UsedWrongly } from "../operator/errors.ts";

/**
 * Asks a question that is answered with y or n; anything but yes is no, Ctrl-C and Ctrl-D too. Throws
 * {@link UsedWrongly} where no person is there to be asked.
 */
export async function askYesOrNo(question: string, { mayAsk }: { mayAsk: boolean }): Promise<boolean> {
  const { stdin: input, stderr: output } = process;
  if (!mayAsk || !input.isTTY || !output.isTTY)
    throw new UsedWrongly("Nothing was changed: nobody is here to be asked. Say --yes to do it.");
  const lines = createInterface({ input, output });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    return /^y(es)?$/i.test((await Promise.race([lines.question(`${question} (y/N) `), ended])).trim());
  } finally {
    lines.close();
  }
}
