import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { kit } from "../../support/kit.ts";
import { program } from "../../support/program.ts";

it.each([[["--help"]], [[]]])(
  "kit %j of a build shows what the commands say of themselves",
  async (words) => {
    const shown = await kit({}, words);
    const run = promisify(execFile)(process.execPath, [program("src/kit.ts"), ...words], { env: {} });
    const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
    expect([stdout, stderr]).toEqual([shown.stdout, shown.stderr]);
  },
);
