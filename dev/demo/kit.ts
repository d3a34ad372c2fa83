import { spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { text } from "node:stream/consumers";
import type { Environment } from "../../src/config.ts";

/** Compiled if this file is; if it is not, it has to be while it starts. */
const ENTRY = fileURLToPath(new URL(`../../src/kit${path.extname(import.meta.url)}`, import.meta.url));
const IS_COMPILED = path.extname(ENTRY) === ".js";
const TSX = IS_COMPILED ? [] : ["--import", import.meta.resolve("tsx")];
/** From another folder it would not be found how pages are compiled. */
const TSCONFIG = fileURLToPath(new URL("../../tsconfig.json", import.meta.url));

/** Runs an operator's command as `npm run kit` would, and answers the JSON it prints. Throws what it says on failure. */
export async function runKit<Answer>(args: string[], environment: Environment, input = ""): Promise<Answer> {
  const command = spawn(process.execPath, [...TSX, ENTRY, ...args, "--json"], {
    // In the demonstration's folder: a `.env` of this one is none of its business.
    cwd: environment["DATA_DIR"],
    env: {
      PATH: process.env["PATH"],
      ...(!IS_COMPILED && { TSX_TSCONFIG_PATH: TSCONFIG }),
      ...environment,
    },
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
