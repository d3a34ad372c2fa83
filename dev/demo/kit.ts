import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Environment } from "../../src/config.ts";

const ENTRY = new URL("../../src/kit.ts", import.meta.url).pathname;

/** Runs an operator's command as `npm run kit` would, and answers the JSON it prints. Throws what it says on failure. */
export async function runKit<Answer>(args: string[], environment: Environment, input = ""): Promise<Answer> {
  const command = spawn(process.execPath, ["--import", "tsx", ENTRY, ...args, "--json"], {
    env: { PATH: process.env["PATH"], ...environment },
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
