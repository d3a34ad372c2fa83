import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import type { Environment } from "../../src/environment.ts";
import { program } from "../support/program.ts";

/** The output of a command, and its exit code. */
export interface Said {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts the real command line as a process of its own, with only PATH from this environment. */
export function startKit(
  environment: Environment,
  words: readonly string[],
  stdio: StdioOptions = "pipe",
): ChildProcess {
  const env = { PATH: process.env["PATH"], ...environment };
  // Not in the project's folder, where a developer may keep a .env.
  return spawn(process.execPath, [program("src/kit.ts"), ...words], { env, cwd: tmpdir(), stdio });
}

/** Runs one command to its end. */
export async function kit(
  environment: Environment,
  words: readonly string[],
  input: string | Uint8Array = "",
): Promise<Said> {
  const child = startKit(environment, words);
  child.stdin!.on("error", () => undefined).end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** The same with `--json`: the only document on standard output, and the exit code. */
export async function kitJson<Data = Record<string, unknown>>(
  environment: Environment,
  words: readonly string[],
  input = "",
): Promise<{ code: number | null; data: Data }> {
  const { code, stdout, stderr } = await kit(environment, [...words, "--json"], input);
  if (stderr !== "" || !/^[^\n]+\n$/.test(stdout)) {
    throw new Error(`not one JSON document and nothing else:\n${stdout}\n${stderr}`);
  }
  return { code, data: JSON.parse(stdout) as Data };
}
