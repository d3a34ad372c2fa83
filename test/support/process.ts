import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import type { Environment } from "../../src/environment.ts";
import { program } from "./program.ts";

/** A process of the service, as the Procfile starts it. */
export interface ServiceProcess {
  pid: number;
  /** The URL it listens on; null for a worker. */
  url: string | null;
  /** Everything it has written so far to stdout and stderr. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Stops reading its output: the pipes are closed, or fill up. */
  leaveOutput(how: "closed" | "full"): void;
  /** Resolves with its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>;
}

/**
 * Starts `web` or `worker`, which may open `mostFiles` file descriptors; resolves when it logs that it is ready, rejects if
 * it ends before.
 */
export async function aServiceProcess(
  kind: "web" | "worker",
  environment: Environment,
  programs = program,
  mostFiles?: number,
): Promise<ServiceProcess> {
  const { PATH, HOME } = process.env;
  const words = [process.execPath, programs(`src/${kind}.ts`)];
  if (mostFiles) words.unshift("sh", "-c", 'ulimit -n "$0"; exec "$@"', `${mostFiles}`);
  const child = spawn(words[0]!, words.slice(1), {
    // Not in the project's folder, where a developer may keep a .env.
    cwd: tmpdir(),
    env: { PATH, HOME, ...environment },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (output += data.toString()));
  const ended = once(child, "exit").then(
    ([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null,
  );
  const isReady = new Promise<void>((resolve) => {
    child.stdout.on("data", () => output.includes('"msg":"Ready"') && resolve());
  });
  const early = await Promise.race([isReady, ended.then((code) => ({ code }))]);
  if (early) throw new Error(`${kind} ended with ${early.code} before it was ready:\n${output}`);
  const url = /"url":"(http:[^"]+)"/.exec(output)?.[1] ?? null;
  if (kind === "web" && !url) {
    child.kill("SIGKILL");
    throw new Error(`It was ready before it listened:\n${output}`);
  }
  return {
    pid: child.pid!,
    url,
    output: () => output,
    signal: (signal) => void child.kill(signal),
    leaveOutput(how) {
      for (const stream of [child.stdout, child.stderr])
        if (how === "closed") stream.destroy();
        else stream.pause();
    },
    ended,
  };
}
