import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type Settings = Readonly<Record<string, string>>;

/** A process that is measured: the built service, or a floor in its place. */
export interface Program {
  pid: number;
  /** Where it listens; of a worker, which does not, an address nobody has. */
  url: URL;
  /** From the start of the process to the line that says it listens, or is ready. */
  startMs: number;
  /** Ends it at once: what it has promised must be in the database by now. */
  kill(): Promise<void>;
  /** Asks it to end and waits, so that it can write down what it knows. */
  stop(): Promise<void>;
}

/** Nothing of it outlives us, whatever ends us. */
const running = new Map<ChildProcess, Promise<unknown>>();
const killAll = () => running.forEach((_, child) => child.kill("SIGKILL"));
process.on("exit", killAll);

/** Ends at once what still runs. */
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

/** Starts `node` with `words`, pinned by `before`. Resolves when it listens; rejects with what it said if it ends first. */
export async function startProgram(
  words: readonly string[],
  settings: Settings,
  before: readonly string[] = [],
): Promise<Program> {
  const startedAt = performance.now();
  const { child, ended } = start([...before, process.execPath, ...words], settings);
  const url = await listening(child);
  const startMs = performance.now() - startedAt;
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return { pid: child.pid!, url, startMs, kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}

/** Runs `node` to its end and answers what it wrote; rejects with that if it failed. */
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

/** How a program ended by itself, and the last that it wrote. */
export interface End {
  code: number | string;
  said: string;
}

const MOST_SAID = 2_000;

/** Runs `node` to its end, or for as long as given: it is asked to stop then, and null is answered. */
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

/** The words that run a floor of this folder, which is TypeScript as it stands. */
export function floorWords(name: string): string[] {
  return ["--import", "tsx", fileURLToPath(new URL(`floors/${name}.ts`, import.meta.url))];
}

/** The first address it says, or that it is ready; from then on what it says is read and dropped, as a log would be. */
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
