import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { text } from "node:stream/consumers";
import type { Environment } from "../../src/config.ts";

const ENTRY = fileURLToPath(new URL("../../src/kit.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
const TSCONFIG = fileURLToPath(new URL("../../tsconfig.json", import.meta.url));

/** Runs an operator's command as `npm run kit` would, and answers the JSON it prints. Throws what it says on failure. */
export async function runKit<Answer>(args: string[], environment: Environment, input = ""): Promise<Answer> {
  const command = spawn(process.execPath, ["--import", TSX, ENTRY, ...args, "--json"], {
    // In the demonstration's folder: a `.env` of this one is none of its business.
    cwd: environment["DATA_DIR"],
    // From there it would not find how pages are compiled.
    env: { PATH: process.env["PATH"], TSX_TSCONFIG_PATH: TSCONFIG, ...environment },
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
