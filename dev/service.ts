import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { watch } from "chokidar";
import type { Environment } from "../src/environment.ts";
import { messageOf } from "../src/errors.ts";
import { EXIT_MISCONFIGURED } from "../src/process/run-process.ts";
import type { Offer } from "../src/resources/contract.ts";
import { colours } from "./colours.ts";
import { explain } from "./explain.ts";
import { programEnvironment, programWords, PROJECT } from "./program.ts";
import { took } from "./wording.ts";

/** Changes that follow each other within this time are one: an editor saves several files, git changes many. */
const MOMENT_MS = 80;
/** A service that restarts may finish its calls for so long; one that stands at a breakpoint finishes none. */
const RESTARTS_WITHIN_MS = 5_000;
const STOPS_WITHIN_MS = 25_000;
/** Generated code. */
const NOT_WATCHED = /[/\\]src[/\\](database|your-service)[/\\]client$/;
/** Not what editors write beside a file for a moment: hidden files, `index.ts~`, `4913`. */
const SOURCE = /^[^.].*\.(?!tmp$)\w+$/;

export interface Listener {
  /** A line of the service's log. */
  log(line: string): void;
  /** Anything else for the terminal. */
  print(text: string): void;
  /** The service answers, and this is what it sells. */
  ready(offer: Offer): void;
}

/** The service as a process of its own, which is restarted when a file below `src/` changes. */
export interface Service {
  /** Resolves when the service has answered for the first time, or with the exit code if its settings prevent it. */
  first: Promise<"ready" | typeof EXIT_MISCONFIGURED>;
  stop(): Promise<void>;
}

/** Starts it. `inspect` are Node's own options, such as `--inspect`; `migrated` applies the migrations of a change. */
export function startService(
  environment: Environment,
  inspect: readonly string[],
  listener: Listener,
  migrated: () => Promise<unknown>,
): Service {
  let child: ChildProcess;
  let isStopping = false;
  let restart: Promise<void> | null = null;
  let isFirst = true;
  let answer: (how: "ready" | typeof EXIT_MISCONFIGURED) => void;
  const first = new Promise<"ready" | typeof EXIT_MISCONFIGURED>((resolve) => (answer = resolve));

  function start(since?: number): void {
    const started = spawn(process.execPath, [...inspect, ...programWords("dev/web.ts")], {
      env: { ...environment, ...programEnvironment },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // In a group of its own: a Ctrl-C of the terminal reaches this process alone, which stops both in order.
      detached: true,
    });
    child = started;
    let isReady = false;
    let complaint = "";
    createInterface({ input: started.stdout! }).on("line", (line) =>
      line.startsWith('{"level":"') ? listener.log(`${line}\n`) : listener.print(line),
    );
    createInterface({ input: started.stderr! }).on("line", (line) => {
      if (line.startsWith("Debugger listening")) listener.print(line);
      // It has ended, and a debugger that is attached would keep it and its port.
      else if (line.startsWith("Waiting for the debugger to disconnect")) started.kill("SIGKILL");
      else if (/^For help, see: |^Debugger (ending|attached)/.test(line)) return;
      else if (isReady) listener.print(line);
      else complaint += `${line}\n`;
    });
    started.once("message", (offer) => {
      isReady = true;
      if (complaint) listener.print(complaint.trimEnd());
      if (since)
        listener.print(
          colours.green(`✓ Your service answers again, after ${took(performance.now() - since)}.`),
        );
      listener.ready(offer as Offer);
      isFirst = false;
      answer("ready");
    });
    started.once("close", (code, signal) => {
      if (isStopping || restart) return;
      const how = isReady
        ? `Your service has ended (${signal ?? `exit code ${code}`}).`
        : "Your service did not start.";
      if (isFirst && code === EXIT_MISCONFIGURED) {
        process.stderr.write(complaint);
        answer(EXIT_MISCONFIGURED);
        return;
      }
      listener.print(
        `\n${colours.red(`✗ ${how}`)}${complaint ? `\n${explain(complaint)}` : ""}\n\n  It starts again when a file below src/ changes.\n`,
      );
    });
  }

  async function startAnew(why: string): Promise<void> {
    listener.print(`\n${colours.bold(`↻ ${why}: your service restarts.`)}`);
    isFirst = false;
    if (restart) return;
    const since = performance.now();
    restart = end(child, RESTARTS_WITHIN_MS)
      .then(migrated)
      .then(() => undefined)
      .catch((error: unknown) => listener.print(colours.red(`✗ ${messageOf(error)}`)));
    await restart;
    restart = null;
    if (!isStopping) start(since);
  }

  const watcher = watchSources((why) => void startAnew(why));
  start();
  return {
    first,
    async stop() {
      isStopping = true;
      await Promise.all([watcher.close(), restart ?? end(child, STOPS_WITHIN_MS)]);
    },
  };
}

/** Asks a process to stop, and kills it after `withinMs`. Resolves when it has ended. */
async function end(child: ChildProcess, withinMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  const timer = setTimeout(() => child.kill("SIGKILL"), withinMs);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(timer);
}

/** Calls `changed` with the names of the files, once for the changes of a moment. */
function watchSources(changed: (why: string) => void) {
  const files = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  return watch(path.join(PROJECT, "src"), {
    ignoreInitial: true,
    ignored: (file) => NOT_WATCHED.test(file),
  }).on("all", (event, file) => {
    if (event.endsWith("Dir") || !SOURCE.test(path.basename(file))) return;
    files.add(path.relative(PROJECT, file));
    clearTimeout(timer);
    timer = setTimeout(() => {
      const [one, ...more] = files;
      files.clear();
      changed(more.length === 0 ? `${one} changed` : `${one} and ${more.length} more changed`);
    }, MOMENT_MS);
  });
}
