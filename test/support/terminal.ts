import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { tmpdir } from "node:os";
import type { Parts } from "../../src/context.ts";
import type { Environment } from "../../src/environment.ts";
import { runKit } from "../../src/operator/commands/program.ts";
import { aHost, teapotSeller } from "./kit-host.ts";
import { program } from "./program.ts";

const COLUMNS = 80;
const ROWS = 50;
const CTRL_C = "\u0003";

/** A command on a terminal of 80 columns. */
interface Terminal {
  /** Types these characters once the terminal's output matches `when`. */
  type(characters: string, when: RegExp): Promise<void>;
  /**
   * Resolves when the command has ended: with its exit code, what was sent to the terminal, and what the screen shows.
   */
  ended(): Promise<{ code: number | null; sent: string; screen: string[] }>;
}

/** Runs a command in this process, as if it stood on a terminal. Its service sells the teapots. */
export function onTerminal(
  environment: Environment,
  words: readonly string[],
  parts: Partial<Parts> = {},
): Terminal {
  const shown = aScreen();
  const env = { TERM: "xterm", ...environment };
  // As the terminal's driver does it.
  const onText = (_: string, text: string) => shown.add(text.replaceAll("\n", "\r\n"));
  const host = aHost({ env, onText, terminal: { isTTY: true, columns: COLUMNS, rows: ROWS } });
  const seller = { ...teapotSeller, parts: { ...teapotSeller.parts, ...parts } };
  const ran = runKit(words, host, seller).finally(shown.end);
  return {
    async type(characters, when) {
      await shown.until(when);
      if (characters === CTRL_C && !host.stdin.isRaw) host.emit("SIGINT", "SIGINT");
      else host.stdin.write(characters);
    },
    ended: async () => shown.after(await ran),
  };
}

/** Runs the real command line on a pseudo-terminal, which `script` provides. */
export function onRealTerminal(environment: Environment, words: readonly string[]): Terminal {
  const command = [process.execPath, program("src/kit.ts"), ...words].map(quoted).join(" ");
  const child = spawn("script", ["-qec", `stty cols ${COLUMNS} rows ${ROWS}; exec ${command}`, "/dev/null"], {
    env: { PATH: process.env["PATH"], TERM: "xterm", SHELL: "/bin/sh", ...environment },
    cwd: tmpdir(),
    stdio: "pipe",
  });
  const shown = aScreen();
  child.stdin.on("error", () => undefined);
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", shown.add);
  const closed = once(child, "close") as Promise<[number | null]>;
  void closed.then(shown.end);
  return {
    async type(characters, when) {
      await shown.until(when);
      child.stdin.write(characters);
    },
    ended: async () => shown.after((await closed)[0]),
  };
}

/** Collects what is sent to a terminal. */
function aScreen() {
  const changes = new EventEmitter();
  let sent = "";
  let isOver = false;
  return {
    add(this: void, text: string): void {
      sent += text;
      changes.emit("change");
    },
    end(this: void): void {
      isOver = true;
      changes.emit("change");
    },
    async until(when: RegExp): Promise<void> {
      while (!when.test(sent)) {
        if (isOver) throw new Error(`It ended and never showed ${when}:\n${sent}`);
        await once(changes, "change");
      }
    },
    after: (code: number | null) => ({ code, sent, screen: screenAfter(sent) }),
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A control sequence, or a letter. */
// eslint-disable-next-line no-control-regex
const SENT = /\u001b(\[[\d;?]*[A-Za-z]|[78])|[^]/gu;

/**
 * What a terminal shows after this output: lines, with the cursor movements that a progress bar needs. Colours are left
 * out; any other control sequence throws.
 */
function screenAfter(sent: string): string[] {
  const lines: string[][] = [[]];
  let [row, column] = [0, 0];
  let kept = [0, 0];
  const write = (letter: string) => ((lines[row] ??= [])[column++] = letter);
  const moves: Record<string, () => void> = {
    "\n": () => void (lines[(row += 1)] ??= []),
    "\r": () => void (column = 0),
    "\u001b[K": () => void lines[row]!.splice(column),
    "\u001b[0K": () => void lines[row]!.splice(column),
    "\u001b[2K": () => void (lines[row] = []),
    "\u001b[0J": () => void (lines[row]!.splice(column), lines.splice(row + 1)),
    "\u001b7": () => void (kept = [row, column]),
    "\u001b8": () => void ([row, column] = kept as [number, number]),
  };
  for (const [part] of sent.matchAll(SENT)) {
    const place = /^.\[(\d+)G$/.exec(part);
    if (/^.\[[\d;]*m$/.test(part)) continue;
    const up = /^.\[(\d+)A$/.exec(part);
    if (place) column = Number(place[1]) - 1;
    else if (up) row -= Number(up[1]);
    else if (moves[part]) moves[part]();
    else if (part.startsWith("\u001b"))
      throw new Error(`Not known to this terminal: ${JSON.stringify(part)}`);
    else write(part);
  }
  return lines
    .map((line) => Array.from(line, (letter) => letter ?? " ").join(""))
    .filter((line) => line !== "");
}
