import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";

/** The package's command, compiled beside all programs that tests start. */
const COMMAND = path.join(process.env["TEST_PROGRAMS"]!, "packages/conformance/main.js");

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the command in a folder, with nothing of this process's environment. */
export async function conformance(folder: string, ...words: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [COMMAND, ...words], {
    cwd: folder,
    env: { PATH: process.env["PATH"] },
  });
  child.stdin.end();
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
