import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Environment } from "../../src/environment.ts";
import { programEnvironment, programWords } from "../program.ts";

/** Runs an operator's command as `npm run kit` would, in `folder`, and returns its JSON. Throws its output if it fails. */
export async function runKit<Answer>(
  args: string[],
  environment: Environment,
  folder: string,
  input = "",
): Promise<Answer> {
  const command = spawn(process.execPath, [...programWords("src/kit.ts"), ...args, "--json"], {
    // Runs in the demonstration's folder, so that the `.env` of the working folder is not read.
    cwd: folder,
    env: { PATH: process.env["PATH"], ...programEnvironment, ...environment },
    stdio: "pipe",
  });
  command.stdin.on("error", () => undefined);
  command.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => {
    command.once("error", reject);
    command.once("close", resolve);
  });
  const [output, complaint, code] = await Promise.all([text(command.stdout), text(command.stderr), ended]);
  if (code === 0) return JSON.parse(output) as Answer;
  throw new Error(`kit ${args.join(" ")} ended with ${code}: ${(output || complaint).trim().slice(0, 500)}`);
}
