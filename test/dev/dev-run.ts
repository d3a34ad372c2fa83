import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "../../packages/conformance/free-port.ts";
import type { State } from "../../packages/sandbox/index.ts";
import type { Environment } from "../../src/environment.ts";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";

/** Not in the project's folder, where a developer may keep a .env. */
const compiled = (file: string) => ({ words: [program(file)], folder: tmpdir() });

const START = {
  dev: compiled("dev/dev.ts"),
  sandbox: compiled("dev/sandbox.ts"),
  sandboxRun: compiled("dev/sandbox-run.ts"),
  demo: compiled("dev/demo.ts"),
  conformance: compiled("dev/conformance.ts"),
};

/** Runs a development command as its npm script does, with these arguments, in `folder`, which may contain a `.env`. */
export function run(
  entry: keyof typeof START,
  environment: Environment = {},
  words: readonly string[] = [],
  folder = START[entry].folder,
) {
  return runIn(folder, [...START[entry].words, ...words], environment);
}

/** Runs `node` with these words in a folder. */
export function runIn(folder: string, words: readonly string[], environment: Environment = {}) {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: { PATH, HOME, NO_COLOR: "1", ...environment },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (output += data.toString()));
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  return {
    output: () => output,
    /** Resolves with the output once it contains `text`; rejects at once if the command ends without it. */
    async until(text: string): Promise<string> {
      let code: number | NodeJS.Signals | null = null;
      void ended.then((how) => (code = how));
      await eventually(() => output.includes(text) || code !== null, 240_000);
      if (!output.includes(text)) throw new Error(`It ended with ${code}, without "${text}":\n${output}`);
      return output;
    },
    /** Sends a signal; resolves with the exit code, or the signal that ended the command. */
    end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
      child.kill(signal);
      return ended;
    },
    ended,
  };
}

export type Run = ReturnType<typeof run>;

/** A folder for temporary files that every user may use, like /tmp, so that a PostgreSQL is made there. */
export async function aTemporaryFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), "addon-test-"));
  await chmod(folder, 0o1777);
  return {
    folder,
    /** What a command has left there; tsx keeps other folders. */
    left: async () => (await readdir(folder)).filter((name) => name.startsWith("addon-")),
    remove: () => rm(folder, { recursive: true }),
  };
}

/** Two ports that nobody listens on, to be used by several runs, one after the other. */
export async function freePorts(): Promise<{ PORT: string; SANDBOX_PORT: string }> {
  return { PORT: String(await freePort()), SANDBOX_PORT: String(await freePort()) };
}

export async function stateOf({ SANDBOX_PORT }: { SANDBOX_PORT: string }): Promise<State> {
  return (await (await fetch(`http://127.0.0.1:${SANDBOX_PORT}/sandbox/state`)).json()) as State;
}
