import type { EventEmitter } from "node:events";
import { clearLine, cursorTo } from "node:readline";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { WriteStream } from "node:tty";
import picocolors from "picocolors";
import type { Environment } from "../../environment.ts";
import { KitError } from "../../errors.ts";
import { Secret } from "../../secret.ts";
import { UsedWrongly } from "../errors.ts";

/** What a command uses of the process that it runs in: `process` itself, or another one with its signals as events. */
export interface Host extends EventEmitter, Pick<NodeJS.Process, "cwd" | "pid" | "kill"> {
  env: Environment;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

export type Paint = ReturnType<typeof picocolors.createColors>;

/** Colours on a terminal, or as FORCE_COLOR and NO_COLOR say. */
export function paintOf(host: Host, name: "stdout" | "stderr"): Paint {
  const { [name]: stream, env } = host;
  const mayPaint = env["FORCE_COLOR"] !== undefined || stream.isTTY;
  return picocolors.createColors(mayPaint && WriteStream.prototype.getColorDepth(env) > 2);
}

const notConfirmed = () => new KitError("not_confirmed", "Nothing was changed.");

/** Throws `not_confirmed` unless the person says yes. */
export async function askYes(host: Host, question: string): Promise<void> {
  if (!/^y(es)?$/i.test((await prompt(host, `${question} (y/N) `, true)).trim())) throw notConfirmed();
}

/** Standard input, or what a person types without an echo. Throws `UsedWrongly`, or `not_confirmed` if cancelled. */
export async function readSecret(host: Host, what: string): Promise<Secret> {
  const { stdin } = host;
  const typed = await (stdin.isTTY ? prompt(host, `${what} (not shown): `, false) : piped(host, what));
  const value = typed.replace(/\r?\n$/, "");
  if (value === "") throw new UsedWrongly(`${what}: nothing came on standard input.`);
  return new Secret(value);
}

const MOST_CHARACTERS = 64 * 1024;

async function piped({ stdin }: Host, what: string): Promise<string> {
  let text = "";
  for await (const chunk of stdin.setEncoding("utf8")) {
    text += chunk as string;
    if (text.length > MOST_CHARACTERS) throw new UsedWrongly(`${what}: more than 64 KiB came.`);
  }
  return text;
}

/** What a person types after a question. Throws `not_confirmed` if they cancel it with Ctrl-C or Ctrl-D. */
async function prompt({ stdin: input, stderr }: Host, question: string, isShown: boolean): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: isShown ? stderr : nowhere, terminal: true });
  const cancelled = new Promise<never>((_, reject) => lines.once("close", () => reject(notConfirmed())));
  if (!isShown) stderr.write(question);
  try {
    return await Promise.race([lines.question(isShown ? question : ""), cancelled]);
  } finally {
    lines.close();
    if (!isShown) stderr.write("\n");
  }
}

const SHOW_AFTER_MS = 1_000;
const DRAW_EVERY_MS = 200;
const BAR_COLUMNS = 20;

/**
 * The progress of work that takes more than a second, in the last line of a terminal; elsewhere silent. A bar, if it is known
 * how much there is.
 */
export function createProgress(stream: WriteStream, isWanted: boolean) {
  let begunAt = 0;
  let [done, total] = [0, 0];
  let isDrawn = false;
  let timer: NodeJS.Timeout | undefined;

  function draw(): void {
    const ms = performance.now() - begunAt;
    if (ms < SHOW_AFTER_MS) return;
    wipe();
    stream.write(`${far()} · ${Math.round(ms / 1_000)}s`);
    isDrawn = true;
  }

  function far(): string {
    if (total === 0) return done === 0 ? "Working" : `${done} done`;
    // Full at the end alone.
    const full = Math.floor((Math.min(done, total) / total) * BAR_COLUMNS);
    return `${"█".repeat(full)}${"░".repeat(BAR_COLUMNS - full)} ${done} of ${total}`;
  }

  function wipe(): void {
    if (!isDrawn) return;
    cursorTo(stream, 0);
    clearLine(stream, 0);
    isDrawn = false;
  }

  return {
    begin(): void {
      begunAt = performance.now();
      if (isWanted && stream.isTTY) timer = setInterval(draw, DRAW_EVERY_MS).unref();
    },
    update: (now: number, of: number): void => void ([done, total] = [now, of]),
    say(line: string): void {
      wipe();
      stream.write(`${line}\n`);
    },
    end(): void {
      clearInterval(timer);
      wipe();
    },
  };
}
