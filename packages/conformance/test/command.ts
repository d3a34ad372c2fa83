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

/** Without what a run says while it waits, from five seconds on: a busy machine may take as long. */
export const withoutWaits = (stderr: string): string =>
  stderr.replace(/^Waiting for .*, for (?:[5-9]|\d{2,}) s now\.\n/gm, "");

/** Runs the command in a folder, with nothing of this process's environment. */
export const conformance = (folder: string, ...words: string[]): Promise<Ended> =>
  running(folder, ...words).ended;

/** Starts it, so that it can be stopped. */
export function running(folder: string, ...words: string[]) {
  const child = spawn(process.execPath, [COMMAND, ...words], {
    cwd: folder,
    env: { PATH: process.env["PATH"] },
  });
  child.stdin.end();
  const ended = Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]).then(([stdout, stderr, [code]]): Ended => ({ code, stdout, stderr }));
  return { child, ended };
}
