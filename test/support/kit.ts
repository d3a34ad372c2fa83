import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { tmpdir } from "node:os";
import type { Parts } from "../../src/context.ts";
import type { Environment } from "../../src/environment.ts";
import { runKit } from "../../src/operator/commands/program.ts";
import { aHost, type FakeHost, teapotSeller } from "./kit-host.ts";
import { program } from "./program.ts";

/** The output of a command, and its exit code. */
export interface Said {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A command that runs in this process. */
interface Running {
  stdin: FakeHost["stdin"];
  signal(signal: NodeJS.Signals): void;
  /** Everything it has written so far. */
  said: { stdout: string; stderr: string };
  ended: Promise<Said>;
}

/** Starts a command in this process, with this environment alone. Its service sells the teapots. */
export function runningKit(
  environment: Environment,
  words: readonly string[],
  parts: Partial<Parts> = {},
): Running {
  const said = { stdout: "", stderr: "" };
  const host = aHost({ env: environment, onText: (stream, text) => (said[stream] += text) });
  const seller = { ...teapotSeller, parts: { ...teapotSeller.parts, ...parts } };
  const ended = runKit(words, host, seller).then((code) => ({ code, ...said }));
  return { stdin: host.stdin, signal: (signal) => void host.emit(signal, signal), said, ended };
}

/** Runs one command to its end, in this process. */
export function kit(
  environment: Environment,
  words: readonly string[],
  input: string | Uint8Array = "",
  parts: Partial<Parts> = {},
): Promise<Said> {
  const { stdin, ended } = runningKit(environment, words, parts);
  stdin.end(input);
  return ended;
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

/**
 * Starts the real command line as a process of its own, with only PATH from this environment: for what only a process
 * can show, such as its end by a signal.
 */
export function startKit(
  environment: Environment,
  words: readonly string[],
  stdio: StdioOptions = "pipe",
): ChildProcess {
  const env = { PATH: process.env["PATH"], ...environment };
  // Not in the project's folder, where a developer may keep a .env.
  return spawn(process.execPath, [program("src/kit.ts"), ...words], { env, cwd: tmpdir(), stdio });
}
