import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type Settings = Readonly<Record<string, string>>;

/** A process that is measured: the built service, or a floor in its place. */
export interface Program {
  pid: number;
  /** Where it listens. A worker does not; its URL is a dummy. */
  url: URL;
  /** The time from the start of the process to the log line that says it listens, or is ready. */
  startMs: number;
  /** Kills it: whatever it has answered must be in the database by now. */
  kill(): Promise<void>;
}

/** The running child processes. They are killed when this process exits. */
const running = new Map<ChildProcess, Promise<unknown>>();
const killAll = () => running.forEach((_, child) => child.kill("SIGKILL"));
process.on("exit", killAll);

/** Kills all running child processes and waits for their end. */
export async function endAll(): Promise<void> {
  killAll();
  await Promise.allSettled(running.values());
}

function start([command, ...words]: readonly string[], settings: Settings) {
  const child = spawn(command!, words, {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], PORT: "0", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit")
    .then(([code, signal]) => (code ?? signal) as number | string)
    .finally(() => running.delete(child));
  running.set(child, ended);
  return { child, ended };
}

/**
 * Starts `node` with the arguments `words`, pinned by the prefix `before`. Resolves when it listens; rejects with its
 * output if it ends before.
 */
export async function startProgram(
  words: readonly string[],
  settings: Settings,
  before: readonly string[] = [],
): Promise<Program> {
  const startedAt = performance.now();
  const { child, ended } = start([...before, process.execPath, ...words], settings);
  const url = await listening(child);
  const startMs = performance.now() - startedAt;
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { pid: child.pid!, url, startMs, kill };
}

/** Runs `node` to its end and answers its standard output; rejects with its output if it failed. */
export async function runProgram(
  words: readonly string[],
  settings: Settings,
  before: readonly string[] = [],
): Promise<string> {
  const { child, ended } = start([...before, process.execPath, ...words], settings);
  const said = ["", ""];
  [child.stdout, child.stderr].forEach((stream, i) =>
    stream.on("data", (text: Buffer) => (said[i] += text.toString())),
  );
  const [code] = await Promise.all([ended, once(child, "close")]);
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}:\n${said.join("")}`);
  return said[0]!;
}

/** How a program ended by itself, and the end of its output. */
export interface End {
  code: number | string;
  said: string;
}

const MOST_SAID = 2_000;

/** Runs `node` to its end, or for `ms` milliseconds: then it gets a SIGTERM, and null is answered. */
export async function runFor(
  ms: number,
  words: readonly string[],
  settings: Settings,
  before: readonly string[] = [],
): Promise<End | null> {
  const { child, ended } = start([...before, process.execPath, ...words], settings);
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (said = (said + text.toString()).slice(-MOST_SAID)));
  let isStopped = false;
  const timer = setTimeout(() => (isStopped = child.kill("SIGTERM")), ms);
  const [code] = await Promise.all([ended, once(child, "close")]);
  clearTimeout(timer);
  return isStopped ? null : { code, said };
}

/** The arguments that run a floor of `floors/`, which is TypeScript and not built. */
export function floorWords(name: string): string[] {
  return ["--import", "tsx", fileURLToPath(new URL(`floors/${name}.ts`, import.meta.url))];
}

/** Waits for the first URL in its output, or for the line that says it is ready. Later output is read and dropped. */
function listening(child: ChildProcess): Promise<URL> {
  const streams = [child.stdout!, child.stderr!];
  return new Promise((resolve, reject) => {
    let said = "";
    const listen = (text: Buffer) => {
      said += text.toString();
      const [, port = said.includes('"msg":"Ready"') ? "1" : null] = /http:\/\/[\w.]+:(\d+)/.exec(said) ?? [];
      if (!port) return;
      for (const stream of streams) stream.removeListener("data", listen).resume();
      resolve(new URL(`http://127.0.0.1:${port}`));
    };
    for (const stream of streams) stream.on("data", listen);
    child.on("close", () => reject(new Error(`A process ended before it listened:\n${said}`)));
  });
}
