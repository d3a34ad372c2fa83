import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type Settings = Readonly<Record<string, string>>;

/** A process that is measured: the built service, or a floor in its place. */
export interface Program {
  pid: number;
  url: URL;
  /** From the start of the process to the line that says it listens. */
  startMs: number;
  /** Ends it at once: what it has promised must be in the database by now. */
  kill(): Promise<void>;
  /** Asks it to end and waits, so that it can write what it has measured. */
  stop(): Promise<void>;
}

/** Nothing of it outlives us, whatever ends us. */
const running = new Set<ReturnType<typeof spawn>>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Starts `node` with `words`, pinned by `before`. Resolves when it listens; rejects with what it said if it ends first. */
export async function startProgram(
  words: readonly string[],
  settings: Settings,
  before: readonly string[] = [],
): Promise<Program> {
  const [command, ...rest] = [...before, process.execPath, ...words];
  const startedAt = performance.now();
  const child = spawn(command!, rest, {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], PORT: "0", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const ended = once(child, "exit").finally(() => running.delete(child));
  const url = await listening(child);
  const startMs = performance.now() - startedAt;
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return { pid: child.pid!, url, startMs, kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}

/** A floor of this folder, which is TypeScript as it stands. */
export function startFloor(
  name: string,
  settings: Settings,
  before: readonly string[] = [],
): Promise<Program> {
  const file = fileURLToPath(new URL(`floors/${name}.ts`, import.meta.url));
  return startProgram(["--import", "tsx", file], settings, before);
}

/** The address in the first line with one; from then on what the process says is read and dropped, as a log would be. */
function listening({ stdout, stderr, pid, ...child }: ReturnType<typeof spawn>): Promise<URL> {
  return new Promise((resolve, reject) => {
    let said = "";
    const listen = (text: Buffer) => {
      said += text.toString();
      const [, url] = /(http:\/\/(?:localhost|127\.0\.0\.1):\d+)/.exec(said) ?? [];
      if (!url) return;
      for (const stream of [stdout!, stderr!]) stream.removeListener("data", listen).resume();
      resolve(new URL(url.replace("localhost", "127.0.0.1")));
    };
    for (const stream of [stdout!, stderr!]) stream.on("data", listen);
    stdout!.on("close", () => reject(new Error(`The process ${pid} ended before it listened:\n${said}`)));
    void child;
  });
}
